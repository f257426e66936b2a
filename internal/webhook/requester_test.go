package webhook

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// latecomer is knowledge that observes namespaces late: it gives this many answers without their labels, or with an error.
type latecomer struct {
	*knowledge
	without *atomic.Int64
	err     error
}

func late(answers int64) latecomer {
	l := latecomer{goldOnly(), &atomic.Int64{}, nil}
	l.without.Store(answers)
	return l
}

// waiting sets the maximum wait for events.
func waiting(o *Options) { o.NewsPatience = patience }

func (l latecomer) Requester(ctx context.Context, member, namespace string) (policy.Requester, error) {
	r, err := l.knowledge.Requester(ctx, member, namespace)
	if l.without.Add(-1) >= 0 {
		if l.err != nil {
			return policy.Requester{}, l.err
		}
		r.NamespaceLabels = nil
	}
	return r, err
}

// goldOnly allows more to namespaces with a label than to others, and has a default for them.
func goldOnly() *knowledge {
	spec := defaultPolicy()
	spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	spec.Limits.CPU.Max = new(int32(16))
	w := knowledgeWith(policyNamed("gold", spec))
	w.labels = map[string]string{"tier": "gold"}
	return w
}

func TestAGroupThatComesWithItsNamespaceIsJudgedByItsLabels(t *testing.T) {
	for _, ask := range []string{"mutate", "validate"} {
		s := serve(t, late(3), waiting)
		if ask == "mutate" {
			request := requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 0 }))
			if patch := string(s.mutate(request).Patch); !strings.Contains(patch, "/spec/cpu") {
				t.Errorf("nothing is filled in: %s", patch)
			}
			continue
		}
		if response := s.validate(requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 }))); !response.Allowed {
			t.Errorf("refused: %s", response.Result.Message)
		}
	}
}

// A member calls as soon as the leader has installed the webhook. This replica can connect to the member a moment later.
func TestAGroupOfAMemberThatIsStillBeingJoinedWaitsForIt(t *testing.T) {
	l := late(3)
	l.err = errors.New("the member is not engaged")
	s := serve(t, l, waiting)
	if response := s.validate(requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 }))); !response.Allowed {
		t.Errorf("refused: %s", response.Result.Message)
	}
}

func TestAGroupOfANamespaceThatNobodyKnowsIsNotJudged(t *testing.T) {
	s := serve(t, late(math.MaxInt64), nil)
	for _, path := range []string{MutatePath(testMember, testSegment), ValidatePath(testMember, testSegment)} {
		body := reviewOf(t, requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Spec.VCenter = "" })))
		if status, text := s.post(path, body); status != http.StatusInternalServerError || !strings.Contains(string(text), "does not know the namespace yet") {
			t.Errorf("status %d: %s", status, text)
		}
	}
}
