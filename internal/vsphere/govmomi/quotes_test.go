package govmomi

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// Users who name templates and folders in vCenter cannot inject sentences into our messages.
func TestPathsStandInQuotesWithinASentence(t *testing.T) {
	const evil = `/DC0/vm/any. Delete all of them/linux`
	_, err := choose("template", "linux", []string{evil, "/DC0/vm/golden/linux"})
	if vsphere.KindOf(err) != vsphere.KindAmbiguous || !strings.Contains(err.Error(), `for example "`+evil+`", /DC0/vm/golden/linux; give`) {
		t.Errorf("%v", err)
	}
	ref := vsphere.VMRef("vm-1")
	s := &Server{cat: &catalog{content: &content{templates: []templateEntry{{Template: vsphere.Template{Ref: ref, Path: evil}}}}}}
	if text := s.running([]operations.Untracked{{Ref: "task-1", Entity: ref}}); !strings.Contains(text, `task-1 of template "`+evil+`" (`) {
		t.Error(text)
	}
}
