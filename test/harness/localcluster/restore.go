//go:build unix

package localcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

// Backup copies etcd's data to a folder that is empty or does not exist. The API server and etcd are down during the
// copy.
func (c *ControlPlane) Backup(ctx context.Context, to string) error {
	return c.whileDown(ctx, 0, func() error { return os.CopyFS(to, os.DirFS(c.EtcdDataDir())) })
}

// Restore restores the data of Backup, as an administrator does: it stops the API server and etcd, and starts them again. With bump, the
// storage continues with a revision that is higher by bump, and earlier revisions are compacted, as after `etcdutl snapshot restore
// --bump-revision --mark-compacted`. bump must exceed the number of writes since the backup. Without bump, revisions continue from the
// backup's.
func (c *ControlPlane) Restore(ctx context.Context, from string, bump int) error {
	return c.whileDown(ctx, bump, func() error {
		data := c.EtcdDataDir()
		if err := errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(from))); err != nil {
			return err
		}
		return os.Chmod(data, 0o700) // etcd requires this mode
	})
}

// whileDown calls do while the API server and etcd are down.
func (c *ControlPlane) whileDown(ctx context.Context, bump int, do func() error) error {
	c.KillAPIServer() // SIGTERM would wait for the end of all watches
	if err := c.StopEtcd(ctx); err != nil {
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("put back the data of cluster %s: %w", c.Name, err)
	}
	if err := c.StartEtcd(ctx); err != nil {
		return err
	}
	if err := c.raiseRevision(ctx, bump); err != nil {
		return fmt.Errorf("raise the revision of cluster %s: %w", c.Name, err)
	}
	return c.StartAPIServer(ctx)
}

// raiseRevision writes an unused key once for each revision, and compacts earlier revisions.
func (c *ControlPlane) raiseRevision(ctx context.Context, by int) error {
	revision := ""
	for range by {
		var err error
		if revision, err = c.etcdCall(ctx, "kv/put", map[string]any{"key": []byte("/raise"), "value": []byte("x")}); err != nil {
			return err
		}
	}
	if by == 0 {
		return nil
	}
	_, err := c.etcdCall(ctx, "kv/compaction", map[string]any{"revision": revision, "physical": true})
	return err
}

// etcdCall calls etcd's JSON gateway. It returns the new revision.
func (c *ControlPlane) etcdCall(ctx context.Context, path string, arguments any) (revision string, err error) {
	answer, err := c.etcdAsk(ctx, path, arguments)
	if err != nil {
		return "", err
	}
	var said struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return "", fmt.Errorf("etcd's %s: %w", path, err)
	}
	if _, err := strconv.ParseInt(said.Header.Revision, 10, 64); err != nil {
		return "", fmt.Errorf("etcd's %s says no revision: %s", path, answer)
	}
	return said.Header.Revision, nil
}

// etcdAsk calls etcd's JSON gateway. It returns the answer.
func (c *ControlPlane) etcdAsk(ctx context.Context, path string, arguments any) ([]byte, error) {
	body, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.EtcdURL()+"/v3/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("etcd's %s: %s: %s", path, response.Status, answer)
	}
	return answer, nil
}
