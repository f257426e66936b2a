package admitted

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create;delete;get;list;patch;watch,namespace=system

const (
	// requestTimeout limits one write to the hub.
	requestTimeout = 5 * time.Second
	// width is the number of ConfigMaps of one member that are written at the same time.
	width = 8
)

// write is one record that waits for storage; entry is nil to remove the record.
type write struct {
	name  string
	entry *Entry
	done  chan outcome
}

// outcome is the result of a write.
type outcome struct {
	bytes int
	err   error
}

func newWrite(name string, e *Entry) *write { return &write{name, e, make(chan outcome, 1)} }

// Put stores the admitted spec of a group. It returns once the record is stored, with the number of bytes that the hub stores for it. The error is
// ErrFull if there is no room; after any other error the result is unknown. Put does not retry. Only the owner of a group can call it.
//
// Writes of one member that arrive during other writes are combined in the next ones.
func (r *Records) Put(ctx context.Context, key Key, e Entry) (bytes int, err error) {
	w := newWrite(entryName(key.Group), &e)
	r.enqueue(key.Member, w)
	select {
	case o := <-w.done:
		return o.bytes, o.err
	case <-ctx.Done():
		return MostWritten, fmt.Errorf("write the hub's record of what was admitted: %w", ctx.Err())
	}
}

// Drop removes the record of a deleted group, if there is one, and returns the number of bytes that the hub stores for that. It does not wait.
func (r *Records) Drop(key Key) (bytes int) {
	name := entryName(key.Group)
	r.mu.Lock()
	if s := r.members[key.Member]; s != nil {
		for _, p := range s.homes[name] {
			bytes += p.size + overhead
		}
	}
	r.mu.Unlock()
	if bytes > 0 {
		r.enqueue(key.Member, newWrite(name, nil))
	}
	return bytes
}

// enqueue adds a write, and starts carryOut unless it already runs for the member.
func (r *Records) enqueue(member string, w *write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting, writing := r.pending[member]
	r.pending[member] = append(waiting, w)
	if !writing {
		go r.carryOut(member)
	}
}

// carryOut stores the waiting writes of a member until there are none.
func (r *Records) carryOut(member string) {
	for {
		r.mu.Lock()
		batch := r.pending[member]
		if r.pending[member] = nil; len(batch) == 0 {
			delete(r.pending, member)
			r.mu.Unlock()
			return
		}
		s := r.members[member]
		if s == nil {
			s = &shelf{}
		}
		changes := changesOf(batch)
		plan := newPlan(s, changes)
		r.mu.Unlock()
		r.write(member, plan.pages)
		for _, c := range changes {
			for _, w := range c.writes {
				w.done <- outcome{c.bytes, c.err}
			}
		}
		r.mu.Lock()
		left := map[int]*patch{}
		if s := r.members[member]; s != nil {
			left = leftBehind(s, changes)
		}
		r.mu.Unlock()
		r.write(member, left)
	}
}

// changesOf combines the writes of the same record: the last one counts.
func changesOf(batch []*write) (changes []*change) {
	byName := map[string]*change{}
	for _, w := range batch {
		c := byName[w.name]
		if c == nil {
			c = &change{name: w.name}
			byName[w.name] = c
			changes = append(changes, c)
		}
		c.entry, c.writes = w.entry, append(c.writes, w)
	}
	return changes
}

// leftBehind removes records from their former pages after a move. It removes no record that counts, and changes no page that another replica has
// written meanwhile: the next write of the record finds the rest.
func leftBehind(s *shelf, changes []*change) map[int]*patch {
	pages := map[int]*patch{}
	for _, c := range changes {
		if c.err != nil || len(c.from) == 0 {
			continue
		}
		_, newest := s.newest(c.name)
		for _, home := range s.homes[c.name] {
			if home == newest || !slices.Contains(c.from, home.number) {
				continue
			}
			if pages[home.number] == nil {
				pages[home.number] = &patch{version: home.version, values: map[string]*string{}}
			}
			pages[home.number].values[c.name] = nil
		}
	}
	return pages
}

// write changes pages concurrently, and records the results for their records.
func (r *Records) write(member string, pages map[int]*patch) {
	var writing errgroup.Group
	writing.SetLimit(width)
	for number, p := range pages {
		writing.Go(func() error {
			bytes, err := r.patch(member, number, p)
			for _, c := range p.puts {
				c.bytes, c.err = c.bytes+bytes/len(p.puts), err
			}
			return nil
		})
	}
	_ = writing.Wait() // each change has its own error
}

// patch writes one ConfigMap, and returns the number of bytes that the hub stores for it.
func (r *Records) patch(member string, number int, p *patch) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	name := pageName(member, number)
	written, err := r.send(ctx, member, name, p)
	switch {
	case err != nil:
		return MostWritten, fmt.Errorf("write ConfigMap %q with records of what was admitted: %w", name, err)
	case written == nil:
		return 0, nil
	}
	if page := pageOf(written); page != nil {
		r.take(page)
	}
	return written.Size(), nil
}

// send merges values into a ConfigMap, and creates a missing one. It creates none if it only removes records.
func (r *Records) send(ctx context.Context, member, name string, p *patch) (*corev1.ConfigMap, error) {
	change := map[string]any{"data": p.values}
	if p.version != "" {
		change["metadata"] = map[string]any{"resourceVersion": p.version}
	}
	body, err := json.Marshal(change)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller does
	}
	written, err := r.opts.Client.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		return written, err //nolint:wrapcheck // the caller does
	}
	object := component.New(name)
	object.Annotations, object.Data = map[string]string{memberAnnotation: member, formatAnnotation: format}, map[string]string{}
	for key, value := range p.values {
		if value != nil {
			object.Data[key] = *value
		}
	}
	if len(object.Data) == 0 {
		return nil, nil
	}
	written, err = r.opts.Client.Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return r.opts.Client.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}) //nolint:wrapcheck // the caller does
	}
	return written, err //nolint:wrapcheck // the caller does
}
