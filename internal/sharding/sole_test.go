package sharding

import (
	"context"
	"errors"
	"testing"
)

func TestATokenEndsWithTheManager(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	token, ok := Sole{}.Enter(ctx, Key{ClusterUID: "c", Namespace: "n", Name: "g"})
	if !ok || token.Check() != nil || token.Context().Err() != nil {
		t.Fatal("the only replica may not act")
	}
	stop()
	if err := token.Check(); !errors.Is(err, context.Canceled) {
		t.Errorf("after the manager's end the check says %v", err)
	}
	if token.Context().Err() == nil {
		t.Error("the token's context outlives the manager")
	}
	token.Exit()
}

func TestATokenEndsWithItsReconcile(t *testing.T) {
	token, _ := Sole{}.Enter(t.Context(), Key{})
	token.Exit()
	if token.Check() == nil {
		t.Error("a token that was given back still lets requests out")
	}
}
