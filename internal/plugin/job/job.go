// Package job runs a command of the manager as a Job on the hub: with the image, the ServiceAccount and the network of the operator.
package job

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Deployment is that of the operator.
	Deployment = "vmgroup-operator"
	// container is that of the manager.
	container = "manager"
	// nameLabel and jobs mark the Pods of Jobs. The NetworkPolicy of the chart selects them. The Deployment, its Services and its disruption budget do not.
	nameLabel, jobs = "app.kubernetes.io/name", "vmgroup-operator-jobs"
	instanceLabel   = "app.kubernetes.io/instance"
	// keep is for how long a Job stays whose plugin was killed.
	keep = time.Hour
)

// Of returns a Job that runs the manager with these arguments, in a Pod like those of the operator. It is not tried a second time, and is stopped after
// limit.
func Of(operator *appsv1.Deployment, prefix string, limit time.Duration, args ...string) (*batchv1.Job, error) {
	pod := operator.Spec.Template.Spec.DeepCopy()
	at := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == container })
	if at < 0 {
		return nil, fmt.Errorf("the Pods of Deployment %s/%s have no container %q", operator.Namespace, operator.Name, container)
	}
	manager := pod.Containers[at]
	manager.Args, manager.Ports, manager.LivenessProbe, manager.ReadinessProbe, manager.StartupProbe, manager.Lifecycle = args, nil, nil, nil, nil, nil
	pod.Containers, pod.RestartPolicy, pod.TerminationGracePeriodSeconds = []corev1.Container{manager}, corev1.RestartPolicyNever, nil
	pod.Affinity, pod.TopologySpreadConstraints = nil, nil // they spread the operator's own Pods
	labels := map[string]string{nameLabel: jobs}
	if instance := operator.Labels[instanceLabel]; instance != "" {
		labels[instanceLabel] = instance
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, GenerateName: prefix, Labels: labels},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)), ActiveDeadlineSeconds: new(int64(limit.Seconds())), TTLSecondsAfterFinished: new(int32(keep.Seconds())),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"kubectl.kubernetes.io/default-container": container}}, Spec: *pod},
		},
	}, nil
}
