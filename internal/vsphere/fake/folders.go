package fake

import (
	"context"
	"errors"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var errLost = errors.New("the connection was closed before the reply")

// EnsureFolder returns the group's folder and creates the missing parts of the path: see vsphere.Server.
func (s *Server) EnsureFolder(ctx context.Context, path vsphere.FolderPath) (vsphere.Folder, error) {
	parts := []string{path.Member, path.Namespace, path.Leaf}
	if folder, ok := s.lookUp(parts); ok { // costs no call
		return folder, nil
	}
	err := s.onFolder(ctx, OpEnsureFolder, "create folder ", strings.Join(parts, "/"), func(op string) *vsphere.Error {
		at := s.root
		for _, part := range parts {
			next, ok := s.taken(at, part)
			if ok && next.Type != vsphere.TypeFolder {
				err := fail(vsphere.KindNameTaken, op, "a VM has the name "+part)
				err.Object = next
				return err
			}
			if !ok {
				next = s.addFolder(at, part).Ref
			}
			at = next
		}
		return nil
	})
	if err != nil {
		return vsphere.Folder{}, err
	}
	folder, _ := s.lookUp(parts)
	return folder, nil
}

// lookUp returns a folder by its path below the root.
func (s *Server) lookUp(parts []string) (vsphere.Folder, bool) {
	s.mu.Lock()
	defer s.unlock()
	at := s.root
	for _, part := range parts {
		next, ok := s.taken(at, part)
		if !ok {
			return vsphere.Folder{}, false
		}
		at = next
	}
	f, ok := s.folders[at]
	if !ok || s.err != nil {
		return vsphere.Folder{}, false
	}
	return *f, true
}

// DestroyFolder removes an empty folder: see vsphere.Server.
func (s *Server) DestroyFolder(ctx context.Context, folder vsphere.Ref) error {
	return s.onFolder(ctx, OpDestroyFolder, "destroy folder ", s.pathOf(folder), func(op string) *vsphere.Error {
		if folder == s.root {
			return fail(vsphere.KindForeign, op, "it is the operator's root folder")
		}
		var holds []vsphere.Ref
		for _, ref := range inOrder(s.vms) {
			if s.vms[ref].Folder == folder {
				holds = append(holds, ref)
			}
		}
		if len(holds) > 0 {
			err := fail(vsphere.KindNotEmpty, op, "VM "+s.vms[holds[0]].Name+" is in it")
			err.Holds = holds
			return err
		}
		for _, ref := range inOrder(s.folders) {
			if f := s.folders[ref]; f.Parent == folder {
				return fail(vsphere.KindHoldsFolders, op, "folder "+f.Name+" is in it")
			}
		}
		s.removeFolder(folder)
		return nil
	})
}

// movedOut reports whether a folder exists outside of the root.
func (s *Server) movedOut(folder vsphere.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, exists := s.folders[folder]
	return exists && !s.below(folder)
}

func (s *Server) removeFolder(folder vsphere.Ref) {
	delete(s.folders, folder)
	s.tellOwners(folder, "")
}

func (s *Server) pathOf(folder vsphere.Ref) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.folders[folder]; ok {
		return f.Path
	}
	return folder.Value
}

// onFolder makes a call that takes effect at once.
func (s *Server) onFolder(ctx context.Context, kind vsphere.OperationKind, verb, name string,
	effect func(op string) *vsphere.Error) error {
	if err := vsphere.CheckFence(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.unlock()
	entry := Entry{Kind: kind, Name: name}
	if err := s.folderCall(ctx, kind, verb+name, effect); err != nil {
		entry.Err = err
	}
	s.journal = append(s.journal, entry)
	return entry.Err
}

func (s *Server) folderCall(ctx context.Context, kind vsphere.OperationKind, op string,
	effect func(op string) *vsphere.Error) *vsphere.Error {
	if err := s.available(ctx, op); err != nil {
		return err
	}
	if err, ok := pop(s.failSubmit, kind); ok {
		return scripted(err, op)
	}
	happens, lost := pop(s.lost, kind)
	if !lost || happens {
		if err := effect(op); err != nil && !lost {
			return err
		}
	}
	if lost {
		return &vsphere.Error{Kind: vsphere.KindTransient, Op: op, OutcomeUnknown: true, Err: errLost}
	}
	return nil
}
