package v1alpha1

// VCenterHostsAnnotation on a Secret with credentials says which vCenters they are for: host names or addresses, separated by commas, each with :port, with :* for
// any port, or without a port for 443. It wins over the Secret's key VC_HOST, which names one.
const VCenterHostsAnnotation = "vm.codeconnect.vmworld.com/vcenter-hosts"

// UserDataLabel with the value "true" marks a Secret as user data, so that a VmGroup may hand it to its VMs. So does the type [UserDataType].
const UserDataLabel = "vm.codeconnect.vmworld.com/user-data"

// UserDataType is the type of a Secret that is user data and nothing else.
const UserDataType = "vm.codeconnect.vmworld.com/user-data"
