package v1alpha1

// VCenterHostsAnnotation on a Secret with credentials lists the vCenters that they are for: host names or addresses, separated by commas.
// Each has :port, :* for any port, or no port for 443. It has precedence over the Secret's key VC_HOST, which names one vCenter.
const VCenterHostsAnnotation = "vm.codeconnect.vmworld.com/vcenter-hosts"

// UserDataLabel with the value "true" marks a Secret as user data, so that a VmGroup can pass it to its VMs. The type [UserDataType] does
// the same.
const UserDataLabel = "vm.codeconnect.vmworld.com/user-data"

// UserDataType is the type of a Secret that is user data and nothing else.
const UserDataType = "vm.codeconnect.vmworld.com/user-data"
