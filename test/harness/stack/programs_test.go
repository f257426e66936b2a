//go:build unix

package stack

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func TestACopyOfAProgramCanBeStartedWhileOthersAreForked(t *testing.T) {
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	dir, stop := t.TempDir(), make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.CommandContext(t.Context(), program).Run()
				}
			}
		})
	}
	for i := range 200 {
		binary := filepath.Join(dir, fmt.Sprint(i))
		if err := copyProgram(program, binary); err != nil {
			t.Fatal(err)
		}
		if err := exec.CommandContext(t.Context(), binary).Run(); err != nil {
			t.Errorf("copy %d: %v", i, err)
			break
		}
	}
	close(stop)
	others.Wait()
}
