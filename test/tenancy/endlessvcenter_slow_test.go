//go:build unix && slow

package tenancy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// attempts is the number of reads of each vCenter before memory is checked: the remains of single attempts add up.
const attempts = 4

// The beginnings of responses, which a decoder follows.
const (
	envelope = `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><soapenv:Body>`
	listing = envelope + `<RetrievePropertiesExResponse xmlns="urn:vim25"><returnval>`
)

// endlessVCenter answers some calls of the operator with an endless response.
type endlessVCenter struct {
	name string
	// methods are those calls; none for all, including those before the login.
	methods []string
	// head is the beginning of the response. part follows repeatedly, with a pause if it trickles.
	head, part string
	pause      time.Duration
	// says is part of the VCenter's condition.
	says string

	answers atomic.Int32
}

func endlessVCenters() []*endlessVCenter {
	lists := []string{"RetrieveProperties", "RetrievePropertiesEx", "ContinueRetrievePropertiesEx", "WaitForUpdatesEx"}
	vm := `<objects><obj type="VirtualMachine">vm-1</obj><propSet><name>name</name><val xsi:type="xsd:string">` + strings.Repeat("n", 80) + `</val></propSet></objects>`
	return []*endlessVCenter{
		{name: "comments-before-login", head: envelope, part: "<!-- -->", says: "64 KiB"},
		{name: "text-before-login", head: envelope + "<RetrieveServiceContentResponse><returnval><about><name>", part: "name ", says: "64 KiB"},
		{name: "depth-before-login", head: envelope, part: "<a>", says: "deep"},
		{name: "comments", methods: lists, head: listing, part: "<!-- -->", says: "32 MiB"},
		{name: "vms", methods: lists, head: listing, part: vm, says: "MiB"},
		{name: "structures", methods: lists, head: listing + `<objects><obj type="VirtualMachine">vm-1</obj><propSet><name>x</name><val xsi:type="HostConnectInfo">`, part: "<vm/>", says: "64 MiB of memory"},
		{name: "depth", methods: lists, head: listing, part: "<objects>", says: "deep"},
		{name: "trickles", methods: lists, head: listing, part: vm, pause: 100 * time.Millisecond, says: "did not end within"},
	}
}

// hook is that of the proxy in front of a simulator.
func (v *endlessVCenter) hook(call sim.Call) faultproxy.Fault {
	if call.UserAgent == sim.UserAgent || !v.answersTo(call.Method) {
		return faultproxy.Fault{}
	}
	return faultproxy.Fault{Act: faultproxy.Answer, Serve: v.serve}
}

func (v *endlessVCenter) answersTo(method string) bool {
	for _, name := range v.methods {
		if name == method {
			return true
		}
	}
	return len(v.methods) == 0
}

func (v *endlessVCenter) serve(w http.ResponseWriter, r *http.Request) {
	v.answers.Add(1)
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	if _, err := io.WriteString(w, v.head); err != nil {
		return
	}
	many := strings.Repeat(v.part, 1+(64<<10)/len(v.part))
	if v.pause > 0 {
		many = v.part
	}
	for {
		if _, err := io.WriteString(w, many); err != nil {
			return
		}
		if v.pause == 0 {
			continue
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(v.pause):
		}
	}
}

// TestVCentersWhoseAnswersHaveNoEndKeepTheOperatorSmall: all of them at once, before and after the login,
// repeatedly. The operator serves another VCenter at the same time.
func TestVCentersWhoseAnswersHaveNoEndKeepTheOperatorSmall(t *testing.T) {
	w := shared.enter(t)
	defer w.isSmall(t)
	g := newGuarded(t, w, "endless-vcenter")
	all := endlessVCenters()
	for _, v := range all {
		w.serveEndless(t, v)
	}
	for _, v := range all {
		w.untilVCenterSays(t, v)
	}
	await.Until(t, fmt.Sprintf("each of them to be read %d times", attempts), func(context.Context) (bool, error) {
		for _, v := range all {
			if v.answers.Load() < attempts && v.pause == 0 { // one that trickles takes a minute each time
				return false, nil
			}
		}
		return true, nil
	})
	g.served("while vCenters send what has no end")
}

// serveEndless starts a vCenter, and creates the VCenter for it.
func (w *world) serveEndless(t *testing.T, v *endlessVCenter) {
	t.Helper()
	vcenter, err := sim.Start(sim.Options{Templates: []string{template}, Ordinary: []string{}, Username: stack.Username, Password: stack.Password})
	if err != nil {
		t.Fatal(err)
	}
	w.closers = append(w.closers, vcenter.Close)
	proxy, err := sim.NewProxy(vcenter.URL)
	if err != nil {
		t.Fatal(err)
	}
	w.closers = append(w.closers, proxy.Close)
	proxy.Hook(v.hook)
	object := &v1alpha1.VCenter{}
	if err := w.Hub.Get(t.Context(), types.NamespacedName{Name: "default"}, object); err != nil {
		t.Fatal(err)
	}
	object.ObjectMeta, object.Status = metav1.ObjectMeta{Name: v.name}, v1alpha1.VCenterStatus{}
	object.Spec.Server, object.Spec.Folder = proxy.URL, v.name
	if err := w.Hub.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Hub.Delete(context.Background(), object); err != nil {
			t.Error(err)
		}
	})
}

// untilVCenterSays waits until a VCenter reports the exceeded limit. Between two attempts it can be unreachable for
// other reasons.
func (w *world) untilVCenterSays(t *testing.T, v *endlessVCenter) {
	t.Helper()
	object := &v1alpha1.VCenter{}
	await.Until(t, "VCenter "+v.name+" to say "+v.says, func(ctx context.Context) (bool, error) {
		err := w.Hub.Get(ctx, types.NamespacedName{Name: v.name}, object)
		c := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
		return err == nil && c != nil && c.Reason == v1alpha1.ReasonLimitExceeded && strings.Contains(c.Message, v.says), err
	}, func() string { return stack.Words(object.Status.Conditions) })
}
