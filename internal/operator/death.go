package operator

import (
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/death"
)

// announceDeath writes, before there is a session, the data that will prove that this process has ended, and publishes to
// the others where it runs. If that fails, they wait for the Lease to expire.
func announceDeath(replica *sharding.Replica, o Options, boot string) {
	log := ctrl.Log.WithName("sharding")
	place := death.Place{Pod: types.UID(o.PodUID), Container: o.ContainerName}
	if place.String() == "" {
		log.V(1).Info("The Pod is not known: others will wait for this replica's Lease when it dies")
		return
	}
	written, err := death.Record(o.TerminationLog, boot)
	switch {
	case err != nil:
		log.Error(err, "The termination message could not be written: others will wait for this replica's Lease when it dies")
	case !written:
		log.V(1).Info("There is no file for the termination message: others will wait for this replica's Lease when it dies", "file", o.TerminationLog)
	default:
		replica.Publish(death.PublishedKey, place.String())
	}
}

// watchDeaths returns the watcher for proofs that other replicas have ended.
func watchDeaths(pods corev1client.PodInterface, replica *sharding.Replica) *death.Watcher {
	return death.NewWatcher(death.Options{Pods: pods, Replicas: replica, Log: ctrl.Log.WithName("sharding")})
}
