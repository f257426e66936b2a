package govmomi

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

func TestAQuestionIsReadAndForgottenOnceItIsAnswered(t *testing.T) {
	info := types.VirtualMachineQuestionInfo{Id: "1", Text: "Was it moved or copied?"}
	for story, c := range map[string]struct {
		value any
		want  string
	}{
		"asked":             {info, info.Text},
		"asked, a pointer":  {&info, info.Text},
		"answered":          {nil, ""},
		"a pointer to none": {(*types.VirtualMachineQuestionInfo)(nil), ""},
	} {
		o := object{values: map[string]any{propQuestion: c.value}}
		vm := baseOf(o)
		if vm.Question != c.want {
			t.Errorf("%s: %q", story, vm.Question)
		}
		vm.Question = "before"
		if !setBase(&vm, propQuestion, o) || vm.Question != c.want {
			t.Errorf("%s, and another before: %q", story, vm.Question)
		}
	}
}
