package govmomi

import (
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// folderErrors remembers why folders could not be created. It limits the attempts of all groups of a namespace together
// to the rate of operations.Backoff. Otherwise a missing privilege would cost a call for every pass of each group.
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

// scopes returns the possible scopes of a folder's error: the group alone, and its whole namespace.
func scopes(path vsphere.FolderPath) (group, namespace vsphere.FolderPath) {
	return path, vsphere.FolderPath{Member: path.Member, Namespace: path.Namespace}
}

// standing returns the last error until its retry time.
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

// record stores the result of an attempt. leaf is true for the group's own folder. Success clears the error.
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
		return // nothing was sent, or the session itself delays the login
	}
	scope := namespace
	if leaf && kind == vsphere.KindNameTaken {
		scope = group // the other groups' names can be free
	}
	if f.last == nil {
		f.last = map[vsphere.FolderPath]folderError{}
	}
	// Errors without a retry for an hour are dropped: their groups can be deleted.
	for p, old := range f.last {
		if p != scope && f.now().Sub(old.retryAt) > time.Hour {
			delete(f.last, p)
		}
	}
	count := f.last[scope].count + 1
	f.last[scope] = folderError{err, count, f.now().Add(operations.Backoff(kind, count))}
}
