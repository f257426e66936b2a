package pages

// Prelude are functions for Before and After.
const Prelude = `
# group NAMESPACE NAME REPLICAS creates a VmGroup, and waits until it is ready.
group() {
	kubectl create namespace "$1" --dry-run=client -o yaml | kubectl apply -f - 2>/dev/null
	kubectl apply -f - <<EOF
apiVersion: vm.codeconnect.vmworld.com/v1alpha1
kind: VmGroup
metadata: {name: $2, namespace: $1}
spec: {cpu: 1, memory: 1, template: debian-12, replicas: $3}
EOF
	kubectl wait --for=condition=Ready "vmgroup/$2" -n "$1" --timeout=5m
}
# kept NAMESPACE NAME deletes a VmGroup and keeps its VMs. It leaves the UID in the variable kept.
kept() {
	kept=$(kubectl get vmgroup "$2" -n "$1" -o jsonpath='{.metadata.uid}')
	kubectl annotate vmgroup "$2" -n "$1" "vm.codeconnect.vmworld.com/release=$kept"
	kubectl delete vmgroup "$2" -n "$1"
}
# refused PATTERN COMMAND runs a command until it fails with output that matches. A policy takes effect in a member shortly after it is ready.
refused() {
	local pattern=$1 input output
	shift
	input=$(cat)
	for _ in {1..60}; do
		if ! output=$(PATH=$real "$@" <<<"$input" 2>&1) && grep --quiet "$pattern" <<<"$output"; then
			printf '%s\n' "$output"
			return
		fi
		sleep 1
	done
	printf '%s\n' "$output"
	return 1
}
# ordinary VM converts a template to a VM, as a person has it who begins to read how to prepare one.
ordinary() { govc vm.markasvm -pool Cluster1/Resources "/DC1/vm/templates/$1"; }
`

// chart is the chart of a release in the pages. The pages use the chart of the tree, and TestReleaseInstalls that of a release.
const chart = "oci://registry.example.com/team/charts/vmgroup-operator --version 0.2.0"

// Table has all pages in the order in which they run. The tutorial installs the operator. The other pages use that installation, and the last rows remove it. These
// variables of the environment describe the world:
//
//   - VCENTER, THUMBPRINT: host and port of the simulated vCenter, and the thumbprint of its certificate
//   - GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, GOVC_TLS_CA_CERTS: its administrator
//   - VC_PASS: the password of the operator's account
//   - NODE: the address of the hub's node
//   - TAG: the version of an image that the node has
var Table = []Page{
	{
		Name:  "tutorial/demo.md",
		Apart: true,
		Before: `
PATH=$PWD/bin:$PATH
demo() {
	set -m # the demo gets Ctrl-C, as in a terminal
	make "$@" >demo.log 2>&1 &
	set +m
	demo=$!
	trap 'kill -INT -- "-$demo"' EXIT
	until grep --quiet "Ctrl-C takes everything" demo.log; do
		kill -0 "$demo" || { tail -n 40 demo.log; return 1; }
		sleep 1
	done
}
ends() {
	trap - EXIT
	kill -INT -- "-$demo"
	wait "$demo" || true
	grep --quiet "demo: ok" demo.log
}`,
		Names: []string{
			"make demo DEMO=stay", "demo demo DEMO=stay",
			`kubectl --context team-c patch vmgroup web --type=merge -p '{"spec":{"cpu":16}}'`,
			`refused "exceeds the maximum 4 of VmGroupPolicy" kubectl --context team-c patch vmgroup web --type=merge -p '{"spec":{"cpu":16}}'`,
			"kubectl vmgroup member check", `refused "CredentialsRevoked" kubectl vmgroup member check`,
		},
		Shows: []string{`(?m)^Joined in `, `(?m)^default/web of team-c: bucket \d+, held by `, `correct the name, or create it`, `you to member +Kubernetes v1`, `vmgroup\S*/web condition met`},
		After: "ends",
	},
	{
		Name: "tutorial/first-hour.md",
		Before: `
VC_ADMIN=$GOVC_PASSWORD
unset GOVC_URL GOVC_USERNAME GOVC_PASSWORD GOVC_TLS_CA_CERTS
kubectl delete namespace vmgroup-operator-system --ignore-not-found --timeout=2m`,
		Names: []string{
			"vcenter.example.com", "$VCENTER",
			chart, "charts/vmgroup-operator --set image.tag=$TAG",
			"AA:BB:…", "$THUMBPRINT",
			"check: {enabled: true}", "check: {enabled: true, args: [--settle=0]}",
			// The other pages use webhooks.
			"localMember: {enabled: true}", `localMember: {enabled: true}
admission: {url: "https://$NODE:30443"}
webhook: {externalIPs: [$NODE], service: {type: NodePort, nodePort: 30443}}`,
			"--resource-pool Cluster1/Resources", "--resource-pool Cluster1/Resources --ca vcenter.pem",
		},
		Files: map[string]string{"localMember: {enabled: true}": "hub.yaml"},
		Types: []string{"$GOVC_PASSWORD"},
		Shows: []string{`Fingerprint=`, `/DC1/vm/vm-operator`, `(?m)^ok +login`, `vmgroup\S*/first condition met`},
		// The next pages use other templates, user data, and the revision before.
		After: `
printf '%s\n' 'vcenter: {spec: {grants: [{memberClusters: [local], templates: ["*"]}]}}' >more.yaml
helm upgrade vmgroup-operator charts/vmgroup-operator --set image.tag=$TAG --namespace vmgroup-operator-system --values hub.yaml --values more.yaml --wait
kubectl patch membercluster local --type=merge --patch '{"spec": {"userDataSecrets": "Allow"}}'
kubectl wait --for=condition=AdmissionReady membercluster/local --timeout=5m
kubectl wait --for=create validatingwebhookconfiguration/vmgroup-operator --timeout=5m`,
	},
	{
		Name:   "how-to/vcenter-account.md",
		Before: "govc role.remove -force VmGroupOperator\ngovc role.remove -force VmGroupOperatorSessions",
		After:  "govc role.ls VmGroupOperator",
		Shows:  []string{`(?m)^Cryptographer\.Clone$`},
	},
	{
		Name:   "how-to/linux-template.md",
		Before: "ordinary debian-12",
		Shows:  []string{`Type: +VirtualVmxnet3`, `(?m)^try-0 \d+\.`, `(?m)^try-1 \d+\.`},
	},
	{
		Name: "how-to/windows-template.md",
		// config/member-rbac/user-data.yaml is for a member that is not the hub.
		Before: `
ordinary windows-2022
kubectl create clusterrole user-data --verb=get --resource=secrets
kubectl create clusterrolebinding user-data --clusterrole=user-data --serviceaccount=vmgroup-operator-system:vmgroup-operator`,
		Files: map[string]string{"#ps1_sysnative": "userdata.ps1"},
		Shows: []string{`(?m)^win-0 \d+\.`, `(?m)^win-1 \d+\.`},
		After: "kubectl delete vmgroup/win secret/win-userdata clusterrolebinding/user-data clusterrole/user-data",
	},
	{
		Name:   "how-to/check-vcenter.md",
		Before: `printf '%s\n' "$VC_PASS" >password`,
		Names: []string{
			"vcenter.example.com", "$VCENTER",
			"--resource-pool Cluster1/Resources", `--resource-pool Cluster1/Resources --ca "$GOVC_TLS_CA_CERTS"`,
		},
		Shows: []string{`(?m)^ok +login`, `"time":`},
		After: "rm password",
	},
	{
		Name: "how-to/keep-vms.md",
		// The second group is being deleted, and waits because it is paused.
		Before: `
group shop web 2
group shop other 1
kubectl annotate vmgroup other -n shop vm.codeconnect.vmworld.com/paused=true
kubectl delete vmgroup other -n shop --wait=false`,
		Shows: []string{`VmGroup "shop/other" keeps its VMs`, `(?m)^vmgroup-operator-receipt-`},
		After: `
kubectl annotate vmgroup other -n shop vm.codeconnect.vmworld.com/paused-
kubectl wait --for=delete vmgroup/other -n shop --timeout=5m`,
	},
	{
		Name:   "how-to/adopt-vms.md",
		Before: "group shop old 2\nkept shop old",
		Names:  []string{"--member NAME", "--member local", "5e2f0c6d-1f0a-4c57-9d1e-0a6f3b7c2d11", "$kept", "linux-small", "debian-12"},
		Shows:  []string{`vmgroup\S*/web condition met`},
		After:  "kubectl delete vmgroup web -n shop",
	},
	{
		Name:   "how-to/update-vms.md",
		Before: "group shop web 1",
		Shows:  []string{`after the edit: 1 VM \(4 CPU`, `complete: 1 VM, with revision`},
		After:  "kubectl delete vmgroup web -n shop",
	},
	{
		Name:   "how-to/stop-vms.md",
		Before: "group default web 1",
		Shows:  []string{`(?m)^web-0 `},
		After:  "kubectl delete vmgroup web",
	},
	{
		Name: "how-to/limits-and-quota.md",
		Before: `
kubectl create namespace shop --dry-run=client -o yaml | kubectl apply -f -
kubectl label namespace shop stage=dev`,
		Names: []string{
			`["team-*"]`, "[local]", `["linux-*"]`, `["*"]`, "linux-12", "debian-12",
			"kubectl --context team-a create", `refused "exceeds the quota of 100 CPUs" kubectl --context team-a create`,
		},
		Shows: []string{`vmgrouppolicy\S*/dev condition met`, `exceeds the quota of 100 CPUs of VmGroupPolicy "dev" in namespace "shop"`},
		After: `
kubectl delete vmgrouppolicy dev
kubectl label namespace shop stage-`,
	},
	{
		Name:   "how-to/autoscale.md",
		Before: "group default web 3",
		Shows:  []string{`Reference: +VmGroup/web`},
		After:  "kubectl delete hpa/web vmgroup/web",
	},
	{
		Name: "how-to/delete-many.md",
		Before: `
group team web 1
group shop web 1
kubectl patch vmgroup web -n shop --type=merge --patch '{"spec": {"deletionProtection": "Enabled"}}'`,
		// The member leaves with the last row. The dry run shows that the confirmation counts.
		Names: []string{"confirm member team-a", "confirm member local", "delete membercluster team-a", "delete membercluster local --dry-run=server"},
		Shows: []string{`namespace "shop" deleted`, `"local" deleted \(server dry run\)`},
		After: `
kubectl annotate membercluster local vm.codeconnect.vmworld.com/confirm-deletion-
kubectl delete namespace team`,
	},
	{
		Name:  "how-to/manage-none.md",
		Names: []string{"team-a", "local"},
		Shows: []string{`kind: CustomResourceDefinition`, `kind: ValidatingWebhookConfiguration`},
	},
	{
		Name:  "how-to/production.md",
		Names: []string{"AA:BB:…", "$THUMBPRINT"},
		Shows: []string{`healthz check passed`},
	},
	{
		Name: "how-to/expose-webhooks.md",
		Names: []string{
			"membercluster team-a", "membercluster local",
			"https://vmgroups.example.com/clusters/team-a/", "https://$NODE:30443/clusters/local/",
		},
		Shows: []string{`AdmissionReady=True`, `(?m)^404$`, `vg-1 created \(server dry run\)`},
	},
	{
		Name: "how-to/argocd.md",
		Dry:  true,
		Before: `
kubectl create namespace argocd
kubectl -n argocd create configmap argocd-cm`,
		Shows: []string{`configmap/argocd-cm patched`},
		After: "kubectl delete namespace argocd",
	},
	{
		Name:  "how-to/install.md",
		Dry:   true,
		Names: []string{chart, "charts/vmgroup-operator --set image.tag=$TAG", "AA:BB:…", "$THUMBPRINT"},
		Files: map[string]string{`admission: {url: "https://vmgroups.example.com"}  # where members reach the webhooks; it gets into the certificate`: "hub.yaml"},
		Shows: []string{`Phase: +Succeeded`, `deployment\S*/vmgroup-operator configured \(server dry run\)`, `vcenter\S*/default configured \(server dry run\)`},
	},
	{
		Name:   "how-to/upgrade.md",
		Dry:    true,
		Before: "helm get values vmgroup-operator --namespace vmgroup-operator-system --output yaml >hub.yaml",
		Names:  []string{chart, "charts/vmgroup-operator", "REVISION", "1"},
		Shows:  []string{`Phase: +Succeeded`, `deployment\S*/vmgroup-operator scaled \(server dry run\)`},
	},
	{
		Name: "how-to/migrate.md",
		Dry:  true,
		Before: `
helm get values vmgroup-operator --namespace vmgroup-operator-system --output yaml >hub.yaml
kubectl create namespace codeconnect-vm-operator-system
kubectl -n codeconnect-vm-operator-system create deployment codeconnect-vm-operator-controller-manager --image=none --replicas=0
kubectl -n codeconnect-vm-operator-system create secret generic vc-creds --from-literal=VC_HOST=vcenter.example.com --from-literal=VC_USER=a --from-literal=VC_PASS=b
kubectl create clusterrole codeconnect-vm-operator --verb=get --resource=pods
group default web 1
govc folder.create /DC1/vm/vm-operator/default-web
govc vm.create -on=false -folder /DC1/vm/vm-operator/default-web -pool /DC1/host/Cluster1/Resources -ds LocalDS_0 -net "VM Network" web-replica-abcdefgh`,
		Names: []string{chart, "charts/vmgroup-operator", "vcqaDC", "DC1"},
		Shows: []string{
			`secret/vc-creds configured \(server dry run\)`, `clusterrole\S* "codeconnect-vm-operator" deleted \(server dry run\)`, `vmgroup\S*/web-2 created \(server dry run\)`,
			`VmGroup "default/web" adopts its VMs of the original operator\. +\(dry run: nothing is stored\)`,
		},
		After: `
kubectl delete namespace/codeconnect-vm-operator-system clusterrole/codeconnect-vm-operator vmgroup/web
test -z "$(govc find /DC1/vm/vm-operator -name default-web)"`,
	},
	{
		Name: "how-to/air-gapped.md",
		Dry:  true,
		Before: `
git clone --quiet . ../air-gapped
ln -s ../air-gapped/dist/release/v0.2.0 v0.2.0
helm get values vmgroup-operator --namespace vmgroup-operator-system --output yaml >hub.yaml`,
		Names: []string{"make release VERSION=0.2.0", "make -C ../air-gapped release VERSION=0.2.0 PLATFORM=linux/$(go env GOARCH)"},
		Shows: []string{`vmgroup-operator-0\.2\.0\.tgz: OK`, `install\.yaml: OK`},
	},
	{
		Name:    "how-to/uninstall.md",
		Section: "## Uninstall temporarily",
		Dry:     true,
		Names:   []string{"membercluster team-b", "membercluster local"},
		Shows:   []string{`release "vmgroup-operator" uninstalled`},
	},
	{
		Name:    "how-to/uninstall.md",
		Section: "## Uninstall permanently",
		// The kept VM makes the VCenter InUse. The hub is also the member, so the CRDs of the member are deleted with those of the hub.
		Before: `
kubectl apply -k config/member
group default web 1
group default old 1
kept default old`,
		Names: []string{
			"--member team-a", "--member local", "confirm member team-a team-b", "confirm member local",
			"kubectl --context team-a delete crd", "kubectl --context team-a delete --dry-run=server crd",
		},
		Shows: []string{`vmgroup\S* "web" deleted`, `vcenter\S*/default patched`, `"vmgrouppolicies\S*" deleted`},
	},
	{
		// The last row: there is no hub any more.
		Name:    "how-to/uninstall.md",
		Section: "## Remove a member without the hub",
		Names:   []string{"--member team-a", "--member local"},
		After:   "grep -q vmgroup-operator-claim leave.sh",
	},
}

// Exceptions are all blocks that do not run.
var Exceptions = []Exception{
	{
		Name: "tutorial/first-hour.md", First: "read -rs VC_PASS",
		Reason: "the simulator has no Single Sign-On; its account exists from the start",
	},
	{
		Name: "tutorial/first-hour.md", First: "/usr/lib/vmware-vmafd/bin/dir-cli user modify --account vmgroups --password-never-expires",
		Reason: "a program of the vCenter appliance",
	},
	{
		Name: "how-to/vcenter-account.md", First: "/usr/lib/vmware-vmafd/bin/dir-cli user modify --account vmgroups --password-never-expires",
		Reason: "a program of the vCenter appliance",
	},
	{
		Name: "how-to/linux-template.md", First: "sudo apt-get install open-vm-tools cloud-init    # Debian, Ubuntu",
		Reason: "runs in a guest, and the simulator has none",
	},
	{
		Name: "how-to/linux-template.md", First: `printf 'datasource_list: [VMware, None]\n' | sudo tee /etc/cloud/cloud.cfg.d/99-vmware.cfg`,
		Reason: "runs in a guest, and the simulator has none",
	},
	{
		Name: "how-to/linux-template.md", First: "sudo rm -f /etc/ssh/ssh_host_*",
		Reason: "runs in a guest, and the simulator has none",
	},
	{
		Name: "how-to/windows-template.md", First: `cd "C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf"`,
		Reason: "runs in a guest with Windows, and the simulator has none",
	},
	{
		Name: "how-to/install.md", First: "make release VERSION=0.2.0 REGISTRY=registry.example.com/team PUSH=registry.example.com/team",
		Reason: "compiles for five platforms; TestReleaseInstalls makes a release for one",
	},
	{
		Name: "how-to/install.md", First: "cd v0.2.0",
		Reason: "TestReleaseInstalls checks a release, as it is and after a change of each file",
	},
	{
		Name: "how-to/air-gapped.md", First: "skopeo copy --all oci:v0.2.0/oci:0.2.0 docker://registry.internal/vmgroup-operator:0.2.0",
		Reason: "programs of other projects; hack/image tests that their library reads both layouts",
	},
}
