package admitted

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create;delete;get;list;patch;watch,namespace=system

// requestTimeout bounds one write to the hub.
const requestTimeout = 5 * time.Second

// write is one record that waits to be stored; text is empty for one that is to be removed.
type write struct {
	name, text string
	done       chan error
}

// Put stores what was granted to a group, and returns once it is stored. The error is ErrFull when there is no room; after any other nobody
// knows whether it was stored. Nothing is tried again. Only the owner of a group may call it.
//
// Writes of one member that come while one is under way go into the next one together.
func (r *Records) Put(ctx context.Context, key Key, e Entry) error {
	text, err := encode(e)
	if err != nil {
		return err
	}
	return r.submit(ctx, key.Member, entryName(key.Group), text)
}

// Drop removes the record of a group that is gone, if there is one. It does not wait.
func (r *Records) Drop(key Key) {
	r.mu.Lock()
	_, found := r.newest(key)
	r.mu.Unlock()
	if found {
		r.enqueue(key.Member, &write{name: entryName(key.Group), done: make(chan error, 1)})
	}
}

func (r *Records) submit(ctx context.Context, member, name, text string) error {
	w := &write{name: name, text: text, done: make(chan error, 1)}
	r.enqueue(member, w)
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("write the hub's record of what was admitted: %w", ctx.Err())
	}
}

// enqueue adds a write, and has it carried out if nobody carries out those of the member already.
func (r *Records) enqueue(member string, w *write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting, writing := r.pending[member]
	r.pending[member] = append(waiting, w)
	if !writing {
		go r.carryOut(member)
	}
}

// carryOut stores what waits for a member until nothing does.
func (r *Records) carryOut(member string) {
	for {
		r.mu.Lock()
		batch := r.pending[member]
		if r.pending[member] = nil; len(batch) == 0 {
			delete(r.pending, member)
			r.mu.Unlock()
			return
		}
		plan := r.assign(member, batch)
		r.mu.Unlock()
		for _, number := range slices.Sorted(maps.Keys(plan)) {
			r.patch(member, number, plan[number])
		}
	}
}

// patchOf is what one ConfigMap gets.
type patchOf struct {
	// values by key; nil removes one.
	values map[string]*string
	writes []*write
}

// assign says which ConfigMaps get which writes: a group's record stays where it is, and a new one goes to the first with room. Callers hold
// the lock. A write for which there is no room is answered.
func (r *Records) assign(member string, batch []*write) map[int]*patchOf {
	plan := map[int]*patchOf{}
	to := func(number int) *patchOf {
		if plan[number] == nil {
			plan[number] = &patchOf{values: map[string]*string{}}
		}
		return plan[number]
	}
	sizes := map[int]int{}
	for _, p := range r.members[member] {
		if sizes[p.number] = p.size; p.err != nil {
			sizes[p.number] = pageSize
		}
	}
	placed := map[string]int{}
	for _, w := range batch {
		number, found := placed[w.name]
		for _, p := range r.members[member] {
			_, has := p.entries[w.name]
			switch {
			case !has || found && p.number == number:
			case found || w.text == "":
				to(p.number).values[w.name] = nil
			default:
				number, found = p.number, true
			}
		}
		if w.text == "" {
			if len(plan) == 0 {
				w.done <- nil
			}
			continue
		}
		for !found && number < pages && sizes[number] >= pageSize {
			number++
		}
		if number >= pages {
			w.done <- ErrFull
			continue
		}
		sizes[number] += len(w.name) + len(w.text)
		placed[w.name] = number
		p := to(number)
		p.values[w.name], p.writes = &w.text, append(p.writes, w)
	}
	return plan
}

// patch writes one ConfigMap and answers its writes.
func (r *Records) patch(member string, number int, p *patchOf) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	name := pageName(member, number)
	written, err := r.send(ctx, member, name, p.values)
	if err != nil {
		err = fmt.Errorf("write ConfigMap %q with records of what was admitted: %w", name, err)
	} else if page := pageOf(written); page != nil {
		r.take(page)
	}
	for _, w := range p.writes {
		w.done <- err
	}
}

// send merges values into a ConfigMap, which is made if it is not there.
func (r *Records) send(ctx context.Context, member, name string, values map[string]*string) (*corev1.ConfigMap, error) {
	body, err := json.Marshal(map[string]any{"data": values})
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller does
	}
	written, err := r.opts.Client.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		return written, err //nolint:wrapcheck // the caller does
	}
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app.kubernetes.io/name": "vmgroup-operator", labelKey: component},
			Annotations: map[string]string{memberAnnotation: member, formatAnnotation: format},
		},
		Data: map[string]string{},
	}
	for key, value := range values {
		if value != nil {
			object.Data[key] = *value
		}
	}
	written, err = r.opts.Client.Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return r.opts.Client.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}) //nolint:wrapcheck // the caller does
	}
	return written, err //nolint:wrapcheck // the caller does
}
