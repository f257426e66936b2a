package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/job"
)

// A Job whose Pod does not start ends the command with the reason, and is deleted.
func TestAJobThatDoesNotStartIsExplainedAndDeleted(t *testing.T) {
	waiting := func(reason string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "sidecar"}, {Name: "manager", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "Back-off \x1b[2Jpulling image"}}},
		}}
	}
	for name, test := range map[string]struct {
		pod  *corev1.PodStatus
		want string
	}{
		"no Pod": {nil, "does not make progress: no Pod was created."},
		"no node": {&corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}},
			"has no node: 0/3 nodes are available"},
		"no image":         {new(waiting("ImagePullBackOff")), "does not start: ImagePullBackOff: Back-off"},
		"a slow image":     {&corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: waiting("ContainerCreating").ContainerStatuses}, "is Pending."},
		"no configuration": {new(waiting("CreateContainerConfigError")), "does not start: CreateContainerConfigError"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hub, _ := hubWith(test.pod)
				_, err := job.Run(t.Context(), hub, newJob(), &bytes.Buffer{})
				var failure *cluster.Failure
				if !errors.As(err, &failure) || failure.Code != cluster.ExitUnreachable || !strings.Contains(failure.Sentence, test.want) || strings.Contains(failure.Sentence, "\x1b") {
					t.Errorf("the error is %q, want %q", err, test.want)
				}
				deleted(t, hub)
			})
		})
	}
}

func TestAnInterruptedJobIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, created := hubWith(nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-created
			cancel()
		}()
		if _, err := job.Run(ctx, hub, newJob(), &bytes.Buffer{}); err == nil {
			t.Error("it succeeds")
		}
		deleted(t, hub)
	})
}

func newJob() *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", GenerateName: "check-"}}
}

// hubWith returns a hub that creates a Pod with this status for each Job, as the controller of Jobs and the kubelet do.
func hubWith(pod *corev1.PodStatus) (hub *cluster.Cluster, created chan struct{}) {
	created = make(chan struct{}, 1)
	create := func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
		if err := c.Create(ctx, object, options...); err != nil {
			return err
		}
		created <- struct{}{}
		if pod == nil {
			return nil
		}
		return c.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName() + "-x", Labels: map[string]string{batchv1.JobNameLabel: object.GetName()}}, Status: *pod,
		})
	}
	server := fake.NewClientBuilder().WithScheme(cluster.Scheme()).WithInterceptorFuncs(interceptor.Funcs{Create: create}).Build()
	return &cluster.Cluster{Client: server, Context: "hub", Config: &rest.Config{Host: "https://hub.example.com"}}, created
}

func deleted(t *testing.T, hub *cluster.Cluster) {
	t.Helper()
	jobs := &batchv1.JobList{}
	if err := hub.List(context.WithoutCancel(t.Context()), jobs); err != nil || len(jobs.Items) > 0 {
		t.Errorf("%d Jobs stay, %v", len(jobs.Items), err)
	}
}
