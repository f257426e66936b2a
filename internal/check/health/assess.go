package health

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// oneLine returns an error as a cell of a table.
func oneLine(err error) string {
	return untrusted.Text(strings.Join(strings.Fields(err.Error()), " "), maxCell)
}

// maxCell limits a cell of a table, in bytes.
const maxCell = 2048

func assessAPIServer(version string, err error) finding {
	if err != nil {
		return finding{failure, "API server", oneLine(err), "Check the network between this Pod and the hub's API server, and the kubeconfig or ServiceAccount of this Pod."}
	}
	return finding{fine, "API server", "Kubernetes " + version, ""}
}

// assessKinds checks the served kinds of the operator's API group.
func assessKinds(served map[string]bool, err error) finding {
	const about, todo = "kinds", "Run manager crds apply, or apply config/crd."
	if err != nil {
		return finding{failure, about, "the API server serves none of " + v1alpha1.GroupVersion.String() + ": " + oneLine(err), todo}
	}
	var missing []string
	for _, definition := range crd.Hub() {
		if kind := definition.Spec.Names.Kind; !served[kind] {
			missing = append(missing, kind)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return finding{failure, about, "not served: " + strings.Join(missing, ", "), todo}
	}
	return finding{fine, about, fmt.Sprintf("all %d are served", len(crd.Hub())), ""}
}

// workingSessions returns the sessions that take groups and were renewed between two snapshots.
func workingSessions(before, after hub.Snapshot) map[string]bool {
	renewals := map[string]int64{}
	for _, s := range before.Sessions {
		renewals[s.Session] = s.Renewals
	}
	working := map[string]bool{}
	for _, s := range after.Sessions {
		if then, known := renewals[s.Session]; known && s.Renewals > then && s.State == protocol.Ready {
			working[s.Session] = true
		}
	}
	return working
}

// assessReplicas checks the number of ready Pods, and of sessions that are renewed, against the wanted
// number.
func assessReplicas(wanted, ready, working int) finding {
	const about = "replicas"
	switch {
	case ready < wanted:
		return finding{failure, about, fmt.Sprintf("%d of %d Pods are ready", ready, wanted), "See kubectl describe pod, and the Pods' logs."}
	case working < wanted:
		return finding{failure, about, fmt.Sprintf("%d of %d take a share of the groups", working, wanted), "See /readyz/ring of the Pods, or their logs, for the reason."}
	case working == 0:
		return finding{warning, about, "none is wanted", "Scale the Deployment up: no replica serves the groups."}
	}
	return finding{fine, about, fmt.Sprintf("%d of %d work", working, wanted), ""}
}

func unreadableRing(err error) finding {
	return finding{failure, "shard map", "cannot be read: " + oneLine(err), "See manager shards, and docs/explanation/sharding.md."}
}

// assessRing checks the shard map against the working sessions.
func assessRing(s hub.Snapshot, working map[string]bool) finding {
	if !s.Found {
		return unreadableRing(errNoRing)
	}
	orphans := 0
	for _, lock := range s.Ring.Buckets {
		if !working[lock.Holder] {
			orphans++
		}
	}
	if orphans > 0 {
		return finding{failure, "shard map", fmt.Sprintf("%d of %d shares of the groups have no working replica", orphans, len(s.Ring.Buckets)),
			fmt.Sprintf("That is normal for %s after the first start, and after a replica has died. See manager shards.", s.Ring.Settings.Patience)}
	}
	return finding{fine, "shard map", fmt.Sprintf("%d shares of the groups are held, generation %d", len(s.Ring.Buckets), s.Ring.Generation), ""}
}

func assessReady(about string, generation int64, conditions []metav1.Condition) finding {
	condition := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case condition == nil:
		return finding{warning, about, "has not been checked yet", ""}
	case condition.Status == metav1.ConditionTrue && condition.ObservedGeneration >= generation:
		return finding{fine, about, "Ready", ""}
	case condition.Status == metav1.ConditionTrue:
		return finding{warning, about, "was Ready before its last change, which has not been checked yet", ""}
	}
	return finding{warning, about, strings.TrimSpace(condition.Reason + ": " + strings.Join(strings.Fields(condition.Message), " ")), ""}
}

func assessWebhook(leaf string, err error) finding {
	if err != nil {
		return finding{failure, "webhooks", oneLine(err), "Check the Certificate and its Secret, the Service's endpoints, and that nothing on the way ends TLS."}
	}
	return finding{fine, "webhooks", leaf, ""}
}
