package govmomi

import (
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// folderErrors remembers why folders could not be created, so that all groups of a namespace together ask vCenter
// no more often than operations.Backoff says: a missing privilege would else cost a call for every pass of each.
type folderErrors struct {
	now func() time.Time

	mu   sync.Mutex
	last map[vsphere.FolderPath]folderError
}

type folderError struct {
	err     error
	count   int
	retryAt time.Time
}

// scopes are what an error of a folder may stand for: the group's alone, and its whole namespace.
func scopes(path vsphere.FolderPath) (group, namespace vsphere.FolderPath) {
	return path, vsphere.FolderPath{Member: path.Member, Namespace: path.Namespace}
}

// standing returns the last error while it is too soon to try again.
func (f *folderErrors) standing(path vsphere.FolderPath) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	group, namespace := scopes(path)
	for _, scope := range []vsphere.FolderPath{group, namespace} {
		if last, ok := f.last[scope]; ok && f.now().Before(last.retryAt) {
			return last.err
		}
	}
	return nil
}

// record files the outcome of an attempt; leaf says that it was about the group's own folder. Success clears.
func (f *folderErrors) record(path vsphere.FolderPath, leaf bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	group, namespace := scopes(path)
	kind := vsphere.KindOf(err)
	switch {
	case err == nil:
		delete(f.last, group)
		delete(f.last, namespace)
		return
	case kind == vsphere.KindFenced || kind == vsphere.KindCredentials:
		return // nothing was sent, or the session holds it back itself
	}
	scope := namespace
	if leaf && kind == vsphere.KindNameTaken {
		scope = group // the other groups' names may be free
	}
	if f.last == nil {
		f.last = map[vsphere.FolderPath]folderError{}
	}
	// What nobody tried again for long is over: its group may not exist any more.
	for p, old := range f.last {
		if p != scope && f.now().Sub(old.retryAt) > time.Hour {
			delete(f.last, p)
		}
	}
	count := f.last[scope].count + 1
	f.last[scope] = folderError{err, count, f.now().Add(operations.Backoff(kind, count))}
}
