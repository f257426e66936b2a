package argocd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const keyPrefix = "resource.customizations.health.vm.codeconnect.vmworld.com_"

// health is the result of a check.
type health struct {
	status, message string
}

// checks are the scripts of docs/how-to/argocd/health.yaml by kind.
func checks(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "argocd", "health.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	patch := struct {
		Data map[string]string `json:"data"`
	}{}
	if err := yaml.UnmarshalStrict(content, &patch); err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{}
	for key, script := range patch.Data {
		if len(key) <= len(keyPrefix) || key[:len(keyPrefix)] != keyPrefix {
			t.Fatalf("Argo CD does not know key %q", key)
		}
		scripts[key[len(keyPrefix):]] = script
	}
	return scripts
}

// check runs the script of an object's kind. As in Argo CD, it has the object as global obj, and only the base and
// table libraries.
func check(t *testing.T, scripts map[string]string, object client.Object) health {
	t.Helper()
	kinds, _, err := v1alpha1Scheme().ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	script, there := scripts[kinds[0].Kind]
	if !there {
		t.Fatalf("no check for kind %s", kinds[0].Kind)
	}
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(content, &fields); err != nil {
		t.Fatal(err)
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.SetContext(t.Context())
	state.SetGlobal("obj", toLua(state, fields))
	if err := state.DoString(script); err != nil {
		t.Fatalf("the check of %s fails: %v", kinds[0].Kind, err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the check of %s returns %v, want a table", kinds[0].Kind, state.Get(-1))
	}
	status, message := state.GetField(result, "status"), state.GetField(result, "message")
	if message == lua.LNil {
		t.Errorf("the check of %s returns no message", kinds[0].Kind)
	}
	return health{status.String(), message.String()}
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case nil:
		return lua.LNil
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		table := state.NewTable()
		for _, element := range v {
			table.Append(toLua(state, element))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, element := range v {
			table.RawSetString(key, toLua(state, element))
		}
		return table
	default:
		panic(fmt.Sprintf("%T does not come out of JSON", value))
	}
}
