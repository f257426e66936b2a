package webhook

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// filled is a review with a part repeated in place of MANY, as often as fits within the given weight.
func filled(review, part string, weight int64) []byte {
	room := maxBody - len(review)
	begin, _, _ := strings.Cut(review, "MANY")
	if heavier := (untrusted.Weight([]byte(begin+strings.Repeat(part+",", 1000))) - untrusted.Weight([]byte(begin))) / 1000; weight > 0 {
		room = min(room, int(weight/heavier)*(len(part)+1))
	}
	n := (room - 8) / (len(part) + 1)
	many := strings.Repeat(part+",", n)
	if strings.Contains(part, "KEY__") {
		text := strings.Builder{}
		for i := range n {
			fmt.Fprintf(&text, strings.Replace(part, "KEY__", "%05x", 1)+",", i)
		}
		many = text.String()
	}
	return []byte(strings.Replace(review, "MANY", strings.TrimSuffix(many, ","), 1))
}

// TestNoBodyBecomesMuchMoreThanItIs: the memory that lists and maps of a review need for decoding is computed before. All allocations of a
// request count here, also those freed before its end.
func TestNoBodyBecomesMuchMoreThanItIs(t *testing.T) {
	doors, _ := handlers(t, knowledgeWith(policyNamed("default", defaultPolicy())), nil)
	reviewing := func(kind, plural, user, object string) string {
		const id = `"group":"vm.codeconnect.vmworld.com","version":"v1alpha1"`
		return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{` + id + `,"kind":"` + kind + `"},"resource":{` + id +
			`,"resource":"` + plural + `"},"name":"n","namespace":"apps","operation":"CREATE","userInfo":{` + user + `},"object":{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"` +
			kind + `",` + object + `}}}`
	}
	group := func(object string) string { return reviewing("VmGroup", "vmgroups", "", object) }
	vcenter := func(object string) string { return reviewing("VCenter", "vcenters", "", object) }
	path := ValidatePath(testMember, testSegment)
	// mostRefused is for the bytes that are read, in a buffer that grows. mostDecoded is for an additional list, which grows by quarters: its live memory
	// at any time is less than half.
	const mostRefused, mostDecoded = 12 << 20, 128 << 20
	for name, c := range map[string]struct {
		door               http.Handler
		path, review, part string
	}{
		"VMs":                     {doors.Members, path, group(`"spec":{"cpu":1,"memory":1},"status":{"vms":[MANY]}`), `{}`},
		"nothing in place of VMs": {doors.Members, path, group(`"spec":{"cpu":1,"memory":1},"status":{"vms":[MANY]}`), `null`},
		"conditions":              {doors.Members, path, group(`"spec":{},"status":{"conditions":[MANY]}`), `{}`},
		"revisions":               {doors.Members, path, group(`"spec":{},"status":{"revisions":[MANY]}`), `{}`},
		"managed fields":          {doors.Members, path, group(`"metadata":{"managedFields":[MANY]}`), `{}`},
		"owners":                  {doors.Members, path, group(`"metadata":{"ownerReferences":[MANY]}`), `{}`},
		"finalizers":              {doors.Members, path, group(`"metadata":{"finalizers":[MANY]}`), `""`},
		"labels":                  {doors.Members, path, group(`"metadata":{"labels":{MANY}}`), `"KEY__":""`},
		"metadata of guests":      {doors.Members, path, group(`"spec":{"guest":{"metadata":{MANY}}}`), `"KEY__":""`},
		"groups of a user":        {doors.Members, path, reviewing("VmGroup", "vmgroups", `"groups":[MANY]`, `"spec":{}`), `""`},
		"what else a user has":    {doors.Members, path, reviewing("VmGroup", "vmgroups", `"extra":{MANY}`, `"spec":{}`), `"KEY__":[]`},
		"VMs, mutated":            {doors.Members, MutatePath(testMember, testSegment), group(`"status":{"vms":[MANY]}`), `{}`},
		"grants":                  {doors.Hub, VCenterPath, vcenter(`"spec":{"grants":[MANY]}`), `{}`},
		"nothing as grants":       {doors.Hub, VCenterPath, vcenter(`"spec":{"grants":[MANY]}`), `null`},
		"folders":                 {doors.Hub, VCenterPath, vcenter(`"spec":{"legacyFolders":[MANY]}`), `{}`},
		"patterns":                {doors.Hub, VCenterPath, vcenter(`"spec":{"grants":[{"templates":[MANY]}]}`), `""`},
		"labels of a selector":    {doors.Hub, VCenterPath, vcenter(`"spec":{"grants":[{"namespaceSelector":{"matchLabels":{MANY}}}]}`), `"KEY__":""`},
		"conditions of a member":  {doors.Hub, MemberClusterPath, reviewing("MemberCluster", "memberclusters", "", `"status":{"conditions":[MANY]}`), `{}`},
		"members of a policy":     {doors.Hub, VmGroupPolicyPath, reviewing("VmGroupPolicy", "vmgrouppolicies", "", `"spec":{"match":{"memberClusters":[MANY]}}`), `""`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, weight := range []int64{0, maxWeight - 64<<10} {
				body := filled(c.review, c.part, weight)
				heavy := untrusted.Weight(body)
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path, bytes.NewReader(body))
				request.Header.Set("Content-Type", "application/json")
				answer := httptest.NewRecorder()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				c.door.ServeHTTP(answer, request)
				runtime.ReadMemStats(&after)
				allocated := int64(after.TotalAlloc - before.TotalAlloc)
				t.Logf("%d KiB that weigh %d KiB: status %d, %d KiB allocated", len(body)>>10, heavy>>10, answer.Code, allocated>>10)
				switch {
				case heavy > maxWeight && answer.Code != http.StatusRequestEntityTooLarge:
					t.Errorf("status %d, want 413: %s", answer.Code, answer.Body)
				case heavy > maxWeight && allocated > mostRefused:
					t.Errorf("to refuse %d bytes, %d were allocated", len(body), allocated)
				case heavy <= maxWeight && allocated > mostDecoded:
					t.Errorf("for %d bytes that weigh %d, %d were allocated", len(body), heavy, allocated)
				case heavy <= maxWeight && answer.Code != http.StatusOK:
					t.Errorf("status %d, want 200: %.300s", answer.Code, answer.Body)
				}
			}
		})
	}
}

// TestTextsOfAGroupAreNotRepeatedWhateverTheirLength: a client that knows a segment is no API server, which has checked the object against its schema.
// The name is part of that of each VM, and a policy repeats a refused value.
func TestTextsOfAGroupAreNotRepeatedWhateverTheirLength(t *testing.T) {
	const most = 128 << 20
	w := fuzzKnowledge()
	policies := make([]v1alpha1.VmGroupPolicy, 20)
	for i := range policies {
		policies[i] = policyNamed(fmt.Sprint("p", i), v1alpha1.VmGroupPolicySpec{
			Limits: &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Max: new(int32(500))}}, Templates: &v1alpha1.PolicyTemplates{Deny: []string{"x*"}},
		})
	}
	w.policies, w.quota = policy.Compile(policies), nil
	w.groups["apps/vg"].Spec.Template = strings.Repeat("x", maxBody)
	doors, _ := handlers(t, w, nil)
	long := strings.Repeat("x", maxBody/2-4<<10)
	named := func(g *v1alpha1.VmGroup) { g.Name, g.Spec.Replicas = long+long, new(int32(500)) }
	templated := func(g *v1alpha1.VmGroup) { g.Spec.Template = long }
	for story, c := range map[string]struct {
		request *admissionv1.AdmissionRequest
		want    string
	}{
		"a name":                        {requestFor(t, nil, aGroup(named)), "metadata.name: Too long"},
		"a template":                    {requestFor(t, nil, aGroup(templated)), "spec.template: Too long"},
		"one that was there":            {requestFor(t, aGroup(templated), aGroup()), "spec.template: Too long"},
		"one that stays":                {requestFor(t, aGroup(templated), aGroup(templated, func(g *v1alpha1.VmGroup) { g.Spec.CPU = 1 })), "spec.template: Too long"},
		"one of a group that is scaled": {scaleRequest(t, 3, 4), "spec.template: Too long"},
		"an edit of labels":             {requestFor(t, aGroup(templated), aGroup(templated, func(g *v1alpha1.VmGroup) { g.Labels = map[string]string{"a": "b"} })), `"allowed":true`},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, ValidatePath(testMember, testSegment), bytes.NewReader(reviewOf(t, c.request)))
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		doors.Members.ServeHTTP(answer, request)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d MiB", story, allocated>>20)
		if allocated > most {
			t.Errorf("%s: %d MiB were allocated", story, allocated>>20)
		}
		if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), c.want) {
			t.Errorf("%s: %d %.300s", story, answer.Code, answer.Body)
		}
	}
}

// TestTheLargestGroupsAreLight: a group of 500 VMs with a complete status for each of them is far from the limit.
func TestTheLargestGroupsAreLight(t *testing.T) {
	s := serve(t, knowledgeWith(), nil)
	group := aGroup(func(g *v1alpha1.VmGroup) {
		fields := strings.Builder{}
		for i := range 500 {
			g.Status.VMs = append(g.Status.VMs, v1alpha1.VMStatus{
				Name: fmt.Sprintf("a-group-with-a-name-of-usual-length-%d", i), Ordinal: int32(i), Incarnation: 7,
				UUID: "01234567-89ab-cdef-0123-456789abcdef", MoRef: "vm-123456", Phase: v1alpha1.VMReady, PowerState: "poweredOn",
				IPAddress: "2001:db8:85a3:1234:5678:8a2e:370:7334", Revision: "0123456789abcdef", CloneMode: v1alpha1.CloneLinked, ReadySince: now(),
				ShutdownTime: now(), StartTime: now(), StoppedForChange: now(), ChangeRefused: now(), Updating: true, RestartPending: true, Message: strings.Repeat("m", 512),
			})
			fmt.Fprintf(&fields, `"k:{\"name\":\"%s\"}":{".":{},"f:name":{},"f:phase":{},"f:ip":{},"f:moRef":{},"f:instanceUUID":{},"f:message":{}},`, g.Status.VMs[i].Name)
		}
		g.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(
			`{"f:status":{"f:vms":{` + fields.String() + `"f:x":{}}}}`)}}
		g.Labels, g.Annotations = map[string]string{}, map[string]string{}
		for i := range 100 {
			g.Labels[fmt.Sprintf("example.com/label-%d", i)] = strings.Repeat("x", 63)
			g.Annotations[fmt.Sprintf("example.com/annotation-%d", i)] = strings.Repeat("x", 1000)
		}
	})
	request := requestFor(t, group, group)
	text := reviewOf(t, request)
	weight := untrusted.Weight(text)
	t.Logf("%d KiB, which weigh %d KiB", len(text)>>10, weight>>10)
	if weight > maxWeight/4 {
		t.Errorf("an update of a group with 500 VMs weighs %d, of %d", weight, maxWeight)
	}
	if !s.validate(request).Allowed {
		t.Error("refused")
	}
}
