package receipts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
)

const (
	// requestTimeout limits one request to the hub.
	requestTimeout = 5 * time.Second
	// conflicts is the number of consecutive conflicts with other writers before an error.
	conflicts = 5
	// listSize is the number of receipts in one request.
	listSize = 100
)

// Store has the receipts of all groups. It is safe for concurrent use. Every method asks the API server of the hub.
type Store interface {
	// Read returns the receipt of a group, or nil if there is certainly none.
	Read(ctx context.Context, key Key) (*Receipt, error)
	// List returns all receipts. If some cannot be read, it returns an error for them together with the others.
	List(ctx context.Context) ([]Receipt, error)
	// Write stores a receipt. A repeated write keeps the time and user of the first one, and replaces the other fields. If another group has claimed the receipt, Write does not
	// change it and returns no error: the receipt exists. Write refuses a receipt that is too large with a [*TooLargeError]; a retry is useless then.
	Write(ctx context.Context, r Receipt) error
	// Claim gives the VMs to one group. Only the first of several groups gets them; others get a ClaimedError. If there is no receipt, Claim creates one from the template, with
	// cause Adopted. The same group can claim again. Claim returns the resulting receipt.
	Claim(ctx context.Context, key Key, template Receipt, by Adopter) (Receipt, error)
	// Unclaim withdraws the claim of a group that adopts no more VMs. A receipt with cause Adopted is deleted. If the group has no claim, that is no error.
	Unclaim(ctx context.Context, key Key, by Adopter) error
	// Remove removes a receipt, if there is one.
	Remove(ctx context.Context, key Key) error
}

// Each receipt is one object, and the UIDs of groups are not known in advance, so the RBAC rule is not limited to names.

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;create;update;delete,namespace=system

// ConfigMaps stores each receipt in a ConfigMap.
type ConfigMaps struct {
	// Client of the release namespace. It must not read from a cache.
	Client corev1client.ConfigMapInterface
}

var _ Store = (*ConfigMaps)(nil)

// Read implements Store.
func (c *ConfigMaps) Read(ctx context.Context, key Key) (*Receipt, error) {
	r, _, err := c.get(ctx, key)
	return r, err
}

// List implements Store.
func (c *ConfigMaps) List(ctx context.Context) (all []Receipt, err error) {
	var unreadable []error
	options := metav1.ListOptions{LabelSelector: component.Selector(), Limit: listSize}
	for {
		list, err := c.page(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list the receipts: %w", err)
		}
		for i := range list.Items {
			r, err := decode(&list.Items[i])
			if err != nil {
				unreadable = append(unreadable, err)
				continue
			}
			all = append(all, r)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return all, errors.Join(unreadable...)
		}
	}
}

func (c *ConfigMaps) page(ctx context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return c.Client.List(ctx, options)
}

// Write implements Store.
func (c *ConfigMaps) Write(ctx context.Context, r Receipt) error {
	r.AdoptedBy = nil
	if err := bounded(&r); err != nil {
		return err
	}
	_, err := c.change(ctx, r.Key(), func(now *Receipt) (*Receipt, error) {
		if now != nil && now.AdoptedBy != nil {
			return now, nil
		}
		next := r
		if now != nil && now.Cause == r.Cause {
			next.Time, next.By = now.Time, now.By
		}
		return &next, nil
	})
	return err
}

// Claim implements Store.
func (c *ConfigMaps) Claim(ctx context.Context, key Key, template Receipt, by Adopter) (Receipt, error) {
	if template.Key() != key {
		return Receipt{}, fmt.Errorf("the template of a receipt is of %s, not of %s", template.Key(), key)
	}
	r, err := c.change(ctx, key, func(now *Receipt) (*Receipt, error) {
		var next Receipt
		switch {
		case now == nil:
			next = template
			next.Cause = Adopted
		case now.AdoptedBy == nil:
			next = *now
		case now.AdoptedBy.Is(by):
			return now, nil
		default:
			return nil, &ClaimedError{By: *now.AdoptedBy}
		}
		next.AdoptedBy = &by
		return &next, nil
	})
	if err != nil {
		return Receipt{}, err
	}
	return *r, nil
}

// Unclaim implements Store.
func (c *ConfigMaps) Unclaim(ctx context.Context, key Key, by Adopter) error {
	_, err := c.change(ctx, key, func(now *Receipt) (*Receipt, error) {
		if now == nil || now.AdoptedBy == nil || !now.AdoptedBy.Is(by) {
			return now, nil
		}
		if now.Cause == Adopted {
			return nil, nil
		}
		next := *now
		next.AdoptedBy = nil
		return &next, nil
	})
	return err
}

// Remove implements Store.
func (c *ConfigMaps) Remove(ctx context.Context, key Key) error {
	_, err := c.change(ctx, key, func(*Receipt) (*Receipt, error) { return nil, nil })
	return err
}

// change replaces a receipt with the result of to; nil stands for no receipt. After a conflict with another writer, it calls to again.
func (c *ConfigMaps) change(ctx context.Context, key Key, to func(*Receipt) (*Receipt, error)) (*Receipt, error) {
	for range conflicts {
		now, object, err := c.get(ctx, key)
		if err != nil {
			return nil, err
		}
		next, err := to(now)
		if err != nil {
			return nil, err
		}
		if err = c.put(ctx, key, object, next); err == nil {
			return next, nil
		}
		if !errors.Is(err, configmaps.ErrConflict) {
			return nil, fmt.Errorf("write ConfigMap %q: %w", Name(key), err)
		}
	}
	return nil, fmt.Errorf("write ConfigMap %q: %w", Name(key), configmaps.ErrConflict)
}

// get returns a receipt and its ConfigMap, or nil if there is none.
func (c *ConfigMaps) get(ctx context.Context, key Key) (*Receipt, *corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := c.Client.Get(ctx, Name(key), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read ConfigMap %q: %w", Name(key), err)
	}
	r, err := decode(object)
	if err != nil {
		return nil, nil, err
	}
	return &r, object, nil
}

// put replaces the content of a ConfigMap if its version is still the one that was read. Without a change it makes no call.
func (c *ConfigMaps) put(ctx context.Context, key Key, object *corev1.ConfigMap, next *Receipt) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	switch {
	case next == nil && object == nil:
		return nil
	case next == nil:
		return configmaps.Delete(ctx, c.Client, object.Name, metav1.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion})
	}
	content, err := encode(next)
	if err != nil {
		return err
	}
	if object == nil {
		object = component.New(Name(key))
	} else if maps.Equal(object.Data, content) {
		return nil
	}
	object = object.DeepCopy()
	object.Data = content
	_, err = configmaps.Put(ctx, c.Client, object)
	return err
}
