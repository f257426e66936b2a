//go:build unix

package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// secretVolume synchronizes a directory with a Secret, as kubelet does for a volume. The files are links into a separate directory, which
// is replaced as a whole. The old one is removed.
type secretVolume struct {
	// Dir is the directory that a container would mount.
	Dir string

	reader client.Reader
	key    client.ObjectKey
	stop   context.CancelFunc
	wait   sync.WaitGroup

	version int
	last    map[string][]byte
}

// mountPeriod is the interval of reads of the Secret. kubelet needs up to a minute, but a test has less time.
const mountPeriod = 200 * time.Millisecond

// mountSecret waits for the Secret and mounts it below dir until unmount.
func mountSecret(ctx context.Context, reader client.Reader, key client.ObjectKey, dir string) (*secretVolume, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	v := &secretVolume{Dir: dir, reader: reader, key: key}
	if err := await.Condition(ctx, "Secret "+key.String(), func(ctx context.Context) (bool, error) {
		return v.last != nil, client.IgnoreNotFound(v.sync(ctx))
	}); err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.Background())
	v.stop = stop
	v.wait.Go(func() {
		ticker := time.NewTicker(mountPeriod)
		defer ticker.Stop()
		for {
			select {
			case <-background.Done():
				return
			case <-ticker.C:
				_ = v.sync(background) // if the API server is unreachable, the mounted files stay
			}
		}
	})
	return v, nil
}

func (v *secretVolume) unmount() {
	v.stop()
	v.wait.Wait()
}

func (v *secretVolume) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	secret := &corev1.Secret{}
	if err := v.reader.Get(ctx, v.key, secret); err != nil {
		return err
	}
	if len(secret.Data[corev1.TLSCertKey]) == 0 || maps.EqualFunc(v.last, secret.Data, func(a, b []byte) bool { return string(a) == string(b) }) {
		return nil
	}
	if err := v.swap(secret.Data); err != nil {
		return fmt.Errorf("mount Secret %s: %w", v.key, err)
	}
	v.last = secret.Data
	return nil
}

func (v *secretVolume) swap(data map[string][]byte) error {
	v.version++
	content := "..version-" + strconv.Itoa(v.version)
	if err := os.Mkdir(filepath.Join(v.Dir, content), 0o700); err != nil {
		return err
	}
	for name, value := range data {
		if err := os.WriteFile(filepath.Join(v.Dir, content, name), value, 0o600); err != nil {
			return err
		}
	}
	current := filepath.Join(v.Dir, "..data")
	old, _ := os.Readlink(current)
	if err := errors.Join(os.Symlink(content, current+"_tmp"), os.Rename(current+"_tmp", current)); err != nil {
		return err
	}
	for name := range data {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(v.Dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(v.Dir, old))
}
