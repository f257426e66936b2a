package vcenter

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// newSettings are the settings of a VCenter that was connected before.
type newSettings struct {
	edit   func(*v1alpha1.VCenterSpec)
	secret map[string]string
	// fails is the error of the connection with them; empty if none is made.
	fails vsphere.Kind
	// reason of Ready, the rest of the message, and whether the existing connection ends.
	reason, words string
	ends          bool
}

func (n newSettings) apply(f *refusal) {
	f.Helper()
	if n.secret != nil {
		current := &corev1.Secret{}
		if err := f.Get(f.Context(), client.ObjectKeyFromObject(f.secret), current); err != nil {
			f.Fatal(err)
		}
		for key, value := range n.secret {
			current.Data[key] = []byte(value)
		}
		if err := f.Update(f.Context(), current); err != nil {
			f.Fatal(err)
		}
	}
	if n.edit != nil {
		f.vc.Generation++ // as the API server does
		f.edit(n.edit)
	}
}

// unreachable are settings with which the server does not answer.
func unreachable(edit func(*v1alpha1.VCenterSpec)) newSettings {
	return newSettings{edit: edit, fails: vsphere.KindTransient, reason: v1alpha1.ReasonUnreachable, words: "planted"}
}

var eachField = map[string]newSettings{
	"server": {
		edit:   func(s *v1alpha1.VCenterSpec) { s.Server = "https://127.0.0.1:9" },
		secret: map[string]string{"VC_HOST": "vc.example.com,127.0.0.1:9"},
		fails:  vsphere.KindTransient, reason: v1alpha1.ReasonUnreachable, words: "cannot be reached",
	},
	"a server with another certificate": {
		edit: func(s *v1alpha1.VCenterSpec) {
			s.Server, s.TLS = "https://new.example.com", &v1alpha1.TLSConfig{Thumbprint: strings.Repeat("ab", 20)}
		},
		secret: map[string]string{"VC_HOST": "vc.example.com,new.example.com"},
		fails:  vsphere.KindCertificate, reason: v1alpha1.ReasonCertificateRefused, words: "not trusted",
	},
	"a server that is no URL": {
		edit:   func(s *v1alpha1.VCenterSpec) { s.Server = "ftp://vc" },
		reason: v1alpha1.ReasonInvalidConfiguration, words: "must use https",
	},
	"host in the Secret": {
		edit:   func(s *v1alpha1.VCenterSpec) { s.Server = "" },
		secret: map[string]string{"VC_HOST": "gone.example.com"},
		fails:  vsphere.KindTransient, reason: v1alpha1.ReasonUnreachable, words: "cannot be reached",
	},
	"password": {
		secret: map[string]string{"password": "wrong"},
		fails:  vsphere.KindCredentials, reason: v1alpha1.ReasonInvalidLogin, words: `Secret "vc-creds"`,
	},
	"user name": {
		secret: map[string]string{"username": "unknown"},
		fails:  vsphere.KindCredentials, reason: v1alpha1.ReasonInvalidLogin, words: `Secret "vc-creds"`,
	},
	"another attempt with the same password": {
		secret: map[string]string{"attempt": "2"},
		fails:  vsphere.KindCredentials, reason: v1alpha1.ReasonInvalidLogin, words: `Secret "vc-creds"`,
	},
	"no password": {secret: map[string]string{"password": ""}, reason: v1alpha1.ReasonSecretInvalid, words: "needs keys"},
	"a Secret that is not there": {
		edit:   func(s *v1alpha1.VCenterSpec) { s.CredentialsSecretRef.Name = "not-there" },
		reason: v1alpha1.ReasonSecretNotFound, words: "create it",
	},
	"another's Secret": {
		edit:   func(s *v1alpha1.VCenterSpec) { s.CredentialsSecretRef.Name = "another" },
		reason: v1alpha1.ReasonSecretForAnotherHost, words: "is not sent to",
	},
	"thumbprint": {
		edit:  func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{Thumbprint: strings.Repeat("ab", 20)} },
		fails: vsphere.KindCertificate, reason: v1alpha1.ReasonCertificateRefused, words: "spec.tls", ends: true,
	},
	"certificate authority": {
		edit:  func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{CABundle: "another"} },
		fails: vsphere.KindCertificate, reason: v1alpha1.ReasonCertificateRefused, words: "spec.tls", ends: true,
	},
	"a certificate authority that is none": {
		edit:  func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{CABundle: "-----BEGIN CERTIFICATE-----"} },
		fails: vsphere.KindSpec, reason: v1alpha1.ReasonInvalidConfiguration, words: "planted",
	},
	"tls for a server that is unreachable": {
		edit:  func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{InsecureSkipVerify: true} },
		fails: vsphere.KindTransient, reason: v1alpha1.ReasonUnreachable, words: "cannot be reached",
	},
	"datacenter": {
		edit:  func(s *v1alpha1.VCenterSpec) { s.Datacenter = "Nope" },
		fails: vsphere.KindNotFound, reason: v1alpha1.ReasonInvalidConfiguration, words: "planted",
	},
	"folder": {
		edit:  func(s *v1alpha1.VCenterSpec) { s.Folder = "not/allowed" },
		fails: vsphere.KindSpec, reason: v1alpha1.ReasonInvalidConfiguration, words: "planted",
	},
	"template folders":           unreachable(func(s *v1alpha1.VCenterSpec) { s.Templates = &v1alpha1.Templates{Folders: []string{"/DC0/vm/x"}} }),
	"resource pool":              unreachable(func(s *v1alpha1.VCenterSpec) { s.ResourcePool = "x" }),
	"datastore":                  unreachable(func(s *v1alpha1.VCenterSpec) { s.Datastore = "x" }),
	"network":                    unreachable(func(s *v1alpha1.VCenterSpec) { s.Network = "x" }),
	"mode of observation":        unreachable(func(s *v1alpha1.VCenterSpec) { s.Inventory.Mode = v1alpha1.InventoryPoll }),
	"pause between observations": unreachable(func(s *v1alpha1.VCenterSpec) { s.Inventory.PollSeconds = 9 }),
}

// A user corrects a VCenter, or intends to. Until a restart, possibly days later, only status can show that it was wrong.
func TestNewSettingsThatDoNotWorkAreToldWhileTheFormerServe(t *testing.T) {
	for field, n := range eachField {
		t.Run(field, func(t *testing.T) {
			f := newRefusal(t, "https://vc.example.com")
			f.vc.Generation = 3
			f.connects()
			if f.pass(v1alpha1.ConditionReady); f.vc.Status.Server != "https://vc.example.com" {
				t.Errorf("status.server is %q while it is connected", f.vc.Status.Server)
			}
			before := f.vc.Status.ObservedGeneration
			n.apply(f)
			changed := f.vc.Generation
			f.pass(v1alpha1.ConditionReady)
			if n.fails != "" {
				if len(f.dialed) != 2 {
					t.Fatalf("%d connections were made", len(f.dialed))
				}
				if f.vc.Status.ObservedGeneration != before || f.ready().ObservedGeneration != before {
					t.Errorf("before an answer status is of generation %d, Ready of %d", f.vc.Status.ObservedGeneration, f.ready().ObservedGeneration)
				}
				f.dialed[1].becomes(vsphere.Health{Err: &vsphere.Error{Kind: n.fails, Op: "connect", Err: errors.New("planted")}})
				f.pass(v1alpha1.ConditionReady)
			}
			if n.ends {
				f.ends(n)
				return
			}
			if server, serves := f.Pool.Server(f.vc.Name); !serves || server.(*connectionForTest) != f.dialed[0] {
				t.Fatalf("the working connection was closed: %v", f.diary.read())
			}
			ready := f.ready()
			if ready.Status != metav1.ConditionFalse || ready.Reason != n.reason {
				t.Errorf("Ready is %s/%s: %s", ready.Status, ready.Reason, ready.Message)
			}
			for _, words := range []string{n.words, "The connection to https://vc.example.com that was made with the former ones is still used"} {
				if !strings.Contains(ready.Message, words) {
					t.Errorf("%q does not say %q", ready.Message, words)
				}
			}
			if f.vc.Status.Server != "https://vc.example.com" || f.vc.Status.ObservedGeneration != changed || ready.ObservedGeneration != changed {
				t.Errorf("status has server %q and generation %d, Ready generation %d", f.vc.Status.Server, f.vc.Status.ObservedGeneration, ready.ObservedGeneration)
			}
			if !meta.IsStatusConditionTrue(f.vc.Status.Conditions, v1alpha1.ConditionReachable) {
				t.Error("the vCenter that serves answers, and Reachable is not true")
			}
		})
	}
}

// ends is for a connection whose server is not trusted any more.
func (f *refusal) ends(n newSettings) {
	f.Helper()
	f.awaitEnd(good)
	if _, serves := f.Pool.Server(f.vc.Name); serves {
		f.Error("groups are served by a server that is not trusted any more")
	}
	// The connection that was refused ends at its own time.
	await.True(f.T, "a third connection", func() bool {
		f.pass(v1alpha1.ConditionReady)
		return len(f.dialed) == 3
	}, func() string { return fmt.Sprint(f.diary.read()) })
	f.dialed[len(f.dialed)-1].becomes(vsphere.Health{Err: &vsphere.Error{Kind: n.fails, Op: "connect", Err: errors.New("planted")}})
	if reason := f.pass(v1alpha1.ConditionReady); len(f.dialed) != 3 || reason != n.reason {
		f.Errorf("after %d connections Ready says %q", len(f.dialed), reason)
	}
	if message := f.ready().Message; !strings.Contains(message, n.words) || strings.Contains(message, "still used") {
		f.Errorf("Ready says %q", message)
	}
}

func (f *refusal) ready() metav1.Condition {
	f.Helper()
	c := meta.FindStatusCondition(f.vc.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil {
		f.Fatal("there is no condition Ready")
	}
	return *c
}

// A setting that is added to Config, and creates a new connection, needs a row in the table above.
func TestEachFieldThatMakesANewConnectionIsInTheTable(t *testing.T) {
	f := newRefusal(t, "https://vc.example.com")
	base, err := newConfig(f.vc, f.secret)
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, n := range eachField {
		vc, secret := f.vc.DeepCopy(), f.secret.DeepCopy()
		if n.edit != nil {
			n.edit(&vc.Spec)
		}
		for key, value := range n.secret {
			secret.Data[key] = []byte(value)
		}
		secret.Name = vc.Spec.CredentialsSecretRef.Name
		config, err := newConfig(vc, secret)
		if err != nil {
			continue
		}
		for _, name := range differing(base, config) {
			covered[name] = true
		}
	}
	for _, name := range fieldsOf(base) {
		if changes(base, name) && !covered[name] {
			t.Errorf("a change of %s makes a new connection, and no row has it", name)
		}
	}
}

func fieldsOf(c Config) (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeOf(c)) {
		if field.Name != "Name" { // which is another VCenter
			names = append(names, field.Name)
		}
	}
	return names
}

// differing are the fields in which two configurations differ.
func differing(a, b Config) (names []string) {
	for _, name := range fieldsOf(a) {
		if !reflect.DeepEqual(reflect.ValueOf(a).FieldByName(name).Interface(), reflect.ValueOf(b).FieldByName(name).Interface()) {
			names = append(names, name)
		}
	}
	return names
}

// changes reports whether another value of a field creates a new connection.
func changes(c Config, name string) bool {
	other := c
	field := reflect.ValueOf(&other).Elem().FieldByName(name)
	switch field.Kind() {
	case reflect.String:
		field.SetString(field.String() + "x")
	case reflect.Bool:
		field.SetBool(!field.Bool())
	case reflect.Int, reflect.Int64:
		field.SetInt(field.Int() + 1)
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	default:
		return false // shown to users
	}
	return other.hash() != c.hash()
}
