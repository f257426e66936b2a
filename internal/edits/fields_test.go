package edits

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestChangedFieldsWithTheirValues(t *testing.T) {
	old := v1alpha1.VmGroupSpec{CPU: 2, Memory: 4, Template: "debian-12", Replicas: new(int32(2)), Placement: &v1alpha1.Placement{Datastore: "ssd"}}
	for _, c := range []struct {
		change func(*v1alpha1.VmGroupSpec)
		want   []string
	}{
		{func(*v1alpha1.VmGroupSpec) {}, nil},
		{func(s *v1alpha1.VmGroupSpec) { s.Replicas, s.Template = new(int32(5)), "debian-13" }, []string{"replicas 2→5", "template debian-12→debian-13"}},
		{func(s *v1alpha1.VmGroupSpec) { s.Paused = true }, []string{"paused unset→true"}},
		{func(s *v1alpha1.VmGroupSpec) { s.Placement = nil }, []string{"placement.datastore ssd→unset"}},
		{func(s *v1alpha1.VmGroupSpec) {
			s.Guest = &v1alpha1.Guest{Metadata: map[string]string{"token": "secret"}}
		}, []string{"guest.metadata"}},
		{func(s *v1alpha1.VmGroupSpec) { s.Guest = &v1alpha1.Guest{} }, []string{"guest"}},
		{func(s *v1alpha1.VmGroupSpec) {
			s.Readiness = &v1alpha1.Readiness{MinReadySeconds: 9, GuestInfo: &v1alpha1.GuestInfoGate{Key: "k", Value: "secret"}}
		}, []string{"readiness.guestInfo", "readiness.minReadySeconds unset→9"}},
		{func(s *v1alpha1.VmGroupSpec) {
			s.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromString("10%"))}
		}, []string{"updateStrategy.maxSurge unset→10%"}},
		{func(s *v1alpha1.VmGroupSpec) { s.Template = strings.Repeat("x", 200) }, []string{"template"}},
		{func(s *v1alpha1.VmGroupSpec) { s.Template = "a→b" }, []string{"template"}},
		{func(s *v1alpha1.VmGroupSpec) { s.Template = "x\n\u202ey, cpu 2→4" }, []string{"template"}},
		{func(s *v1alpha1.VmGroupSpec) { s.Template = "my template" }, []string{`template debian-12→"my template"`}},
	} {
		after := old.DeepCopy()
		c.change(after)
		if got := Changed(&old, after); !slices.Equal(got, c.want) {
			t.Errorf("changed %q, want %q", got, c.want)
		}
	}
}

// fill sets every field below v to a random value.
func fill(v reflect.Value, random *rand.Rand) {
	if number, is := v.Addr().Interface().(*intstr.IntOrString); is {
		*number = intstr.FromInt32(1 + random.Int32N(1000))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), random)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), random)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), random)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"k": string(rune('a' + random.IntN(26)))}))
	case reflect.String:
		v.SetString(string(rune('a' + random.IntN(26))))
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(1 + random.Int64N(1000))
	}
}

func TestEveryFieldOfASpecThatChangesIsNamed(t *testing.T) {
	of := reflect.TypeFor[v1alpha1.VmGroupSpec]()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range of.NumField() {
		name := strings.Split(of.Field(i).Tag.Get("json"), ",")[0]
		var old, spec v1alpha1.VmGroupSpec
		fill(reflect.ValueOf(&spec).Elem().Field(i), random)
		for _, got := range [][]string{Changed(&old, &spec), Changed(&spec, &old)} {
			if len(got) == 0 || slices.ContainsFunc(got, func(f string) bool {
				return !strings.HasPrefix(f, name+" ") && !strings.HasPrefix(f, name+".") && f != name
			}) {
				t.Errorf("a change of %s is shown as %q", name, got)
			}
		}
	}
	// Of any two specs, the fields are named that differ, and the result fits into the API.
	for range 200 {
		var a, b v1alpha1.VmGroupSpec
		for i := range of.NumField() {
			for _, s := range []*v1alpha1.VmGroupSpec{&a, &b} {
				if random.IntN(2) == 0 {
					fill(reflect.ValueOf(s).Elem().Field(i), random)
				}
			}
		}
		got := Changed(&a, &b)
		one, _ := json.Marshal(a)
		other, _ := json.Marshal(b)
		if (len(got) == 0) != (string(one) == string(other)) || len(got) > v1alpha1.MaxEditFields {
			t.Fatalf("%d fields for %s and %s", len(got), one, other)
		}
		for _, f := range got {
			if utf8.RuneCountInString(f) > maxField {
				t.Errorf("%q is too long", f)
			}
		}
	}
}

// TestTextsThatAreShown makes the author of a new text field decide whether users who can read a group can see its values. Texts that are
// deeper, and lists, are never shown.
func TestTextsThatAreShown(t *testing.T) {
	known := []string{
		"cloneMode", "deletionPolicy", "deletionProtection", "guest.hostname", "placement.datastore", "placement.network", "placement.resourcePool",
		"powerState", "readiness.gate", "repair.mode", "scaleDown.order", "shutdown.mode", "template", "updateStrategy.replaceTrigger",
		"updateStrategy.resize", "updateStrategy.type", "userDataSecretRef.name", "vcenter",
	}
	var texts []string
	var visit func(prefix string, of reflect.Type, depth int)
	visit = func(prefix string, of reflect.Type, depth int) {
		for field := range of.Fields() {
			kind := field.Type
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			name := prefix + strings.Split(field.Tag.Get("json"), ",")[0]
			switch {
			case kind.Kind() == reflect.String:
				texts = append(texts, name)
			case kind.Kind() == reflect.Struct && depth == 0 && kind != reflect.TypeFor[intstr.IntOrString]():
				visit(name+".", kind, 1)
			}
		}
	}
	visit("", reflect.TypeFor[v1alpha1.VmGroupSpec](), 0)
	if slices.Sort(texts); !slices.Equal(texts, known) {
		t.Errorf("texts whose values are shown: %q\nwant %q", texts, known)
	}
}
