package policylayers

import (
	"errors"
	"os"
	"strings"
	"testing"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// TestThePageHasTheWordsOfTheAPIServer calls the code with which API servers validate custom resources.
func TestThePageHasTheWordsOfTheAPIServer(t *testing.T) {
	schema, err := NewSchema(crd.VmGroupCRD())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/reference/vmgroup.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, written := range []string{`Off`, `"Off"`} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte("metadata: {name: web}\nspec: {cpu: 1, memory: 1, template: t, powerState: "+written+"}\n"), &object); err != nil {
			t.Fatal(err)
		}
		var causes utilerrors.Aggregate
		if err := schema.Validate(t.Context(), object, nil); !errors.As(err, &causes) {
			t.Fatalf("powerState: %s: %v", written, err)
		}
		for _, cause := range causes.Errors() {
			if !strings.Contains(string(page), "\n* "+cause.Error()+"\n") {
				t.Errorf("powerState: %s: the page does not have what the API server says: %v", written, cause)
			}
		}
	}
}
