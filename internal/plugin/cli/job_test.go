package cli

import (
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/job"
)

// A Job gets what the operator needs to reach a vCenter. No Service, NetworkPolicy or disruption budget of the operator selects its Pod.
func TestAJobRunsLikeTheOperatorAndIsNotOneOfItsPods(t *testing.T) {
	selector := map[string]string{"app.kubernetes.io/name": "vmgroup-operator", "app.kubernetes.io/instance": "prod"}
	operator := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: job.Deployment, Labels: selector}}
	operator.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: corev1.PodSpec{
		ServiceAccountName: "vmgroup-operator", ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}, NodeSelector: map[string]string{"zone": "a"},
		Affinity: &corev1.Affinity{}, TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{}}, TerminationGracePeriodSeconds: new(int64(60)),
		Volumes: []corev1.Volume{{Name: "cas"}},
		Containers: []corev1.Container{{Name: "proxy"}, {
			Name: "manager", Image: "example.com/manager:v1", Args: []string{"--workers=16"}, Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "proxy"}},
			Ports: []corev1.ContainerPort{{ContainerPort: 9443}}, LivenessProbe: &corev1.Probe{}, ReadinessProbe: &corev1.Probe{}, VolumeMounts: []corev1.VolumeMount{{Name: "cas"}},
		}},
	}}
	before := operator.DeepCopy()
	j, err := job.Of(operator, "check-", 5*time.Minute, "check", "vcenter", "north")
	if err != nil {
		t.Fatal(err)
	}
	want := corev1.PodSpec{
		ServiceAccountName: "vmgroup-operator", ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}, NodeSelector: map[string]string{"zone": "a"},
		Volumes: []corev1.Volume{{Name: "cas"}}, RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "manager", Image: "example.com/manager:v1", Args: []string{"check", "vcenter", "north"}, Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "proxy"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "cas"}},
		}},
	}
	if got := j.Spec.Template.Spec; !reflect.DeepEqual(got, want) {
		t.Errorf("the Pod is %+v\nwant %+v", got, want)
	}
	for key, value := range map[string]string{"app.kubernetes.io/name": "vmgroup-operator-jobs", "app.kubernetes.io/instance": "prod"} {
		if j.Labels[key] != value || j.Spec.Template.Labels[key] != value {
			t.Errorf("label %s is %q, and %q of the Pod", key, j.Labels[key], j.Spec.Template.Labels[key])
		}
	}
	if *j.Spec.BackoffLimit != 0 || *j.Spec.ActiveDeadlineSeconds != 300 || j.Namespace != "operator" || j.GenerateName != "check-" {
		t.Errorf("the Job is %+v", j)
	}
	if !reflect.DeepEqual(operator, before) {
		t.Error("the Deployment was changed")
	}
	operator.Spec.Template.Spec.Containers[1].Name = "other"
	if _, err := job.Of(operator, "check-", time.Minute); err == nil {
		t.Error("a Deployment without the manager gives a Job")
	}
}
