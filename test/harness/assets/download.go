package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// envtestIndex lists the control planes that the Kubernetes project releases for tests. setup-envtest and controller-runtime's envtest read
// the same index, but offer no timeout for it.
const envtestIndex = "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"

// maxArchive is the limit of an archive in memory. Current archives have about 80 MiB.
const maxArchive = 512 << 20

// downloader downloads an envtest archive. Its timeouts are short, because building is always possible.
type downloader struct {
	client *http.Client
	index  string
	// patience is the timeout of the whole index, and of the pause between two pieces of the archive.
	patience time.Duration
	out      io.Writer
}

func newDownloader(out io.Writer) *downloader {
	return &downloader{client: http.DefaultClient, index: envtestIndex, patience: 4 * time.Second, out: out}
}

// fetch installs the newest release of a series, such as "1.36", into dir. On error, it leaves no files behind.
func (d *downloader) fetch(ctx context.Context, series, dir string) error {
	release, archive, err := d.find(ctx, series)
	if err != nil {
		return err
	}
	say(d.out, "downloading kube-apiserver and etcd %s", release)
	content, err := d.get(ctx, archive.SelfLink, maxArchive)
	if err != nil {
		return err
	}
	if sum := sha512.Sum512(content); hex.EncodeToString(sum[:]) != archive.Hash {
		return fmt.Errorf("%s does not have the checksum that the index names", archive.SelfLink)
	}
	return installDir(dir, func(tmp string) error {
		if err := unpack(content, tmp); err != nil {
			return err
		}
		return complete(tmp)
	})
}

// archive is an entry of the index.
type archive struct {
	Hash     string `json:"hash"`
	SelfLink string `json:"selfLink"`
}

// find returns the newest stable release of a series in the index.
func (d *downloader) find(ctx context.Context, series string) (string, archive, error) {
	// The index is small, so the timeout applies to all of it.
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	content, err := d.get(ctx, d.index, 16<<20)
	if err != nil {
		return "", archive{}, err
	}
	var index struct {
		Releases map[string]map[string]archive `json:"releases"`
	}
	if err := yaml.Unmarshal(content, &index); err != nil {
		return "", archive{}, fmt.Errorf("read the index of envtest releases: %w", err)
	}
	best, newest := "", -1
	for release := range index.Releases {
		patch, err := strconv.Atoi(strings.TrimPrefix(release, "v"+series+"."))
		if err == nil && patch > newest { // a pre-release or another series is no number
			best, newest = release, patch
		}
	}
	name := fmt.Sprintf("envtest-%s-%s-%s.tar.gz", best, runtime.GOOS, runtime.GOARCH)
	entry, ok := index.Releases[best][name]
	if !ok {
		return "", archive{}, fmt.Errorf("the index has no release %s for %s/%s", series, runtime.GOOS, runtime.GOARCH)
	}
	return best, entry, nil
}

// get reads a URL. If the server sends nothing for the duration of patience, it returns an error.
func (d *downloader) get(ctx context.Context, url string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(d.patience, func() { cancel(fmt.Errorf("no answer within %s", d.patience)) })
	defer idle.Stop()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := d.client.Do(request)
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", url, response.Status)
	}
	var content bytes.Buffer
	body := io.LimitReader(response.Body, limit+1)
	for {
		idle.Reset(d.patience)
		_, err := io.CopyN(&content, body, 1<<20)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, cause(ctx, fmt.Errorf("get %s: %w", url, err))
		}
	}
	if int64(content.Len()) > limit {
		return nil, fmt.Errorf("get %s: more than %d MiB", url, limit>>20)
	}
	return content.Bytes(), nil
}

// cause adds the reason of a canceled request to "context canceled".
func cause(ctx context.Context, err error) error {
	if reason := context.Cause(ctx); reason != nil {
		return fmt.Errorf("%w (%w)", reason, err)
	}
	return err
}

// unpack writes the programs of an archive into dir, whatever their directories in the archive.
func unpack(content []byte, dir string) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("unpack the envtest archive: %w", err)
	}
	for entries := tar.NewReader(unzipped); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack the envtest archive: %w", err)
		}
		name := filepath.Base(header.Name)
		if header.Typeflag != tar.TypeReg || !slices.Contains(programs, name) {
			continue
		}
		if err := writeProgram(filepath.Join(dir, name), entries); err != nil {
			return fmt.Errorf("unpack %s from the envtest archive: %w", name, err)
		}
	}
}

func writeProgram(path string, content io.Reader) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, content)
	return err
}
