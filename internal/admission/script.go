package admission

import (
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const scriptHead = `#!/bin/sh
# Removes what the VmGroup operator keeps in %s, for the case that its hub is gone or cannot
# reach it any more. While the hub works, delete the MemberCluster there instead: it does the same. CRDs, VmGroups and
# VMs stay. Every step may be repeated.
#
# Run it with kubectl pointed at the member, as somebody who may administer it.
set -eu
kubectl get namespace kube-system --output=name >/dev/null # ends here when the cluster cannot be reached

# serves GROUP RESOURCE: does the cluster know such things?
serves() {
  kubectl api-resources --api-group="$1" --output=name | grep -qx "$2${1:+.$1}"
}

# remove GROUP RESOURCE NAME [NAMESPACE]: delete it if it is there. An API server goes by a policy for a second or so
# after its binding was deleted, so a refusal is tried again.
remove() {
  serves "$1" "$2" || return 0
  for pause in 1 1 2 3 5 8; do
    kubectl delete "$2${1:+.$1}" "$3" ${4:+--namespace="$4"} --ignore-not-found && return 0
    sleep "$pause"
  done
  kubectl delete "$2${1:+.$1}" "$3" ${4:+--namespace="$4"} --ignore-not-found
}
`

// letGo finds the position of the finalizer in each group and removes it there. With the test operation, the API server
// refuses the patch if another finalizer has moved to that position meanwhile.
const letGo = `if serves GROUP vmgroups; then
  held=$(kubectl get vmgroups.GROUP --all-namespaces --output=go-template='{{range .items}}{{$g := .metadata}}{{range $i, $f := .metadata.finalizers}}{{if eq $f "FINALIZER"}}{{$g.namespace}} {{$g.name}} {{$i}}{{"\n"}}{{end}}{{end}}{{end}}')
  printf '%s' "$held${held:+
}" | while read -r namespace name position; do
    kubectl patch vmgroups.GROUP "$name" --namespace="$namespace" --type=json --patch='[
      {"op": "test", "path": "/metadata/finalizers/'"$position"'", "value": "FINALIZER"},
      {"op": "remove", "path": "/metadata/finalizers/'"$position"'"}]'
  done
fi
`

const scriptTail = `
# What is left: the CRDs with the VmGroups, and the ServiceAccounts and roles of the operator. If nobody needs them:
#   kubectl delete namespace vmgroup-operator
#   kubectl delete clusterrolebinding,clusterrole vmgroup-operator-member vmgroup-operator-bootstrap vmgroup-operator-limits-reader
#   kubectl delete clusterrole vmgroup-operator-vmgroups-view vmgroup-operator-vmgroups-edit
#   kubectl delete rolebinding,role --namespace=kube-system vmgroup-operator-member vmgroup-operator-bootstrap
# Deleting a CRD deletes all objects of its kind:
#   kubectl delete customresourcedefinition vmgroups.vm.codeconnect.vmworld.com vmgrouplimits.vm.codeconnect.vmworld.com
`

// LeaveScript returns [Leave] as a shell script for a user. member is the name of the MemberCluster, "" if it is not known.
func LeaveScript(member string) string {
	which := "this cluster"
	if member != "" {
		which = fmt.Sprintf("the member cluster %q", member)
	}
	var script strings.Builder
	fmt.Fprintf(&script, scriptHead, which)
	for _, step := range Leave() {
		if step.Why != "" {
			fmt.Fprintf(&script, "\n# %s\n", strings.ReplaceAll(step.Why, "\n", "\n# "))
		}
		if step.Delete != nil {
			fmt.Fprintln(&script, strings.TrimRight(fmt.Sprintf("remove %s %s %s %s",
				quoteEmpty(step.Delete.Group), step.Delete.Resource, step.Delete.Name, step.Delete.Namespace), " "))
			continue
		}
		script.WriteString(strings.NewReplacer("GROUP", v1alpha1.GroupVersion.Group, "FINALIZER", step.LetGo).Replace(letGo))
	}
	script.WriteString(scriptTail)
	return script.String()
}

func quoteEmpty(word string) string {
	if word == "" {
		return "''"
	}
	return word
}
