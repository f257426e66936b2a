package trust

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// retry is the wait after a failure, or after another replica wrote first. Both are rare and cost one request.
const retry = time.Second

// errOvertaken reports that the data read is not the newest any more.
var errOvertaken = errors.New("the Secret changed since it was read")

// step reads all data once, acts on it, and returns when to run again.
func (r *Rotator) step(ctx context.Context) (wait time.Duration, err error) {
	secret, err := r.readSecret(ctx)
	if err != nil {
		return retry, err
	}
	stored, damaged := r.learn(secret)
	var members v1alpha1.MemberClusterList
	if err := r.opts.Client.List(ctx, &members); err != nil {
		return retry, fmt.Errorf("list the MemberClusters: %w", err)
	}
	r.openDoors(stored.PathKey, members.Items)
	in, err := r.observe(ctx, stored, members.Items)
	if err != nil {
		return retry, err
	}
	decision, memory := Decide(in, r.memory)
	r.memory = memory
	r.mu.Lock()
	r.decision = decision
	r.mu.Unlock()
	if r.opts.Leader.Leading() {
		r.report(ctx, in, decision)
		if decision.Changed || damaged {
			err := r.write(ctx, secret, decision)
			if errors.Is(err, errOvertaken) {
				return retry, nil
			}
			if err != nil {
				return retry, err
			}
		}
	}
	// The wait is less than a gap that Memory treats as a sleep, and allows at least two steps in each period.
	wait = min(r.opts.Resync, r.opts.Limits.Settle, r.opts.Period/2)
	if !decision.Next.IsZero() {
		wait = min(wait, max(decision.Next.Sub(in.Now), 0))
	}
	return wait, nil
}

// readSecret returns nil if the Secret does not exist.
func (r *Rotator) readSecret(ctx context.Context) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := r.opts.Client.Get(ctx, client.ObjectKey{Namespace: r.opts.Namespace, Name: SecretName}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret %s: %w", SecretName, err)
	}
	return &secret, nil
}

// learn publishes the content of the Secret, and reports whether the Secret must be written because a part is missing. Deleted or damaged parts come from
// memory: a new key would change every member's URL, and a lost authority or leaf would break calls.
func (r *Rotator) learn(secret *corev1.Secret) (stored State, damaged bool) {
	var data map[string][]byte
	version := ""
	if secret != nil {
		data, version = secret.Data, secret.ResourceVersion
	}
	stored = ParseState(data)
	r.mu.Lock()
	before := r.state
	damaged = stored.fill(before)
	changed := !r.known || !bytes.Equal(stored.PathKey, before.PathKey) || !stored.same(before)
	deliver := !r.known || version != "" && version != r.version
	r.state, r.known, r.version = stored, true, version
	r.mu.Unlock()
	if deliver {
		r.opts.Certificates.SetState(data)
		r.Changed() // this replica possibly serves something else now
	}
	if changed && r.opts.Changed != nil {
		r.opts.Changed()
	}
	return stored, damaged || len(stored.PathKey) == 0
}

// openDoors accepts calls with the segments that members have or are given. When a period begins, members are given new segments.
func (r *Rotator) openDoors(key []byte, members []v1alpha1.MemberCluster) {
	given, now := r.period(), r.opts.Now()
	r.had = r.had.next(members, now, r.opts.Limits.Overlap)
	doors := doorsOf(key, members, r.had, given)
	r.mu.Lock()
	first, before := r.doors == nil, r.given
	r.doors, r.given = doors, given
	r.mu.Unlock()
	if !first && before != given && r.opts.Changed != nil {
		r.opts.Changed()
	}
}

// fill takes missing parts from an earlier state.
func (s *State) fill(before State) (filled bool) {
	if len(s.PathKey) == 0 && len(before.PathKey) > 0 {
		s.PathKey, filled = before.PathKey, true
	}
	if len(s.Authorities) == 0 && len(before.Authorities) > 0 {
		s.Authorities, filled = before.Authorities, true
	}
	if s.Served == nil && before.Served != nil {
		s.Served, filled = before.Served, true
	}
	if len(s.Bundles) == 0 && len(before.Bundles) > 0 {
		s.Bundles, filled = before.Bundles, true
	}
	if filled && s.Served != nil {
		leaf := *s.Served // others can read the one from before
		leaf.FindSigners(s.Authorities)
		s.Served = &leaf
	}
	return filled
}

// observe collects the input of the decision. An error means that data is unknown, and then nothing is decided.
func (r *Rotator) observe(ctx context.Context, stored State, members []v1alpha1.MemberCluster) (Input, error) {
	offer := r.opts.Certificates.Offer()
	in := Input{
		Now: r.opts.Now(), Limits: r.opts.Limits, Stored: stored,
		Members: MembersOf(members, r.opts.AdmissionURL), Replicas: r.opts.Peers.Replicas(),
	}
	var err error
	if in.Current, err = r.current(ctx, offer); err != nil {
		return Input{}, err
	}
	if offer.Leaf != nil {
		leaf := *offer.Leaf // the offer belongs to the reader of the files
		leaf.FindSigners(slices.Concat(stored.Authorities, in.Current))
		in.Offered = &leaf
	}
	return in, nil
}

// current returns the authorities that sign now: cert-manager's, and the one of the file ca.crt if there is no other, or if it signed the offered leaf, which
// then needs it.
func (r *Rotator) current(ctx context.Context, offer Offer) ([]Authority, error) {
	var secret corev1.Secret
	err := r.opts.Client.Get(ctx, client.ObjectKey{Namespace: r.opts.Namespace, Name: AuthoritySecretName}, &secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the Secret %s: %w", AuthoritySecretName, err)
	}
	// After the first certificate comes the chain up to those that signed the authority itself.
	all := ParseAuthorities(secret.Data[corev1.TLSCertKey])
	all = all[:min(len(all), 1)]
	for _, a := range offer.Authorities {
		if len(secret.Data) > 0 && !signs(a, offer.Leaf) {
			continue
		}
		if !holds(all, a.Hash) {
			all = append(all, a)
		}
	}
	return all, nil
}

func signs(a Authority, leaf *Leaf) bool {
	if leaf == nil {
		return false
	}
	probe := *leaf
	probe.FindSigners([]Authority{a})
	return len(probe.Signers) > 0
}

// write stores the decision, unless the Secret was written since it was read.
func (r *Rotator) write(ctx context.Context, read *corev1.Secret, decision Decision) error {
	state := decision.State
	if len(state.PathKey) == 0 {
		state.PathKey = make([]byte, keyLength)
		if _, err := io.ReadFull(r.opts.Random, state.PathKey); err != nil {
			return fmt.Errorf("draw the key of the webhook's paths: %w", err)
		}
	}
	var err error
	if read == nil {
		err = r.create(ctx, state)
	} else {
		secret := read.DeepCopy() // with its resourceVersion, which the hub compares
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		maps.Copy(secret.Data, state.Encode())
		err = r.opts.Client.Update(ctx, secret)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || read != nil && apierrors.IsNotFound(err) {
		return errOvertaken
	}
	if err != nil {
		return fmt.Errorf("write the Secret %s: %w", SecretName, err)
	}
	if decision.Switched {
		r.opts.Log.Info("Another certificate is served", "fingerprint", short(state.Served.Fingerprint), "notAcceptedBy", decision.Forced)
		if r.opts.Events != nil {
			r.opts.Events.LeafSwitched(ctx, state.Served, decision.Forced)
		}
	}
	if len(decision.Pruned) > 0 {
		r.opts.Log.Info("Authorities are not needed any more", "fingerprints", decision.Pruned)
	}
	return nil
}

// create creates the Secret, or fails with a conflict if another replica was faster. It uses apply, because the API server then authorizes the creation with
// the Secret's name. Permission to create any Secret would allow creating the token of any ServiceAccount in the namespace. The field owner's name contains
// the hash of the content, and the apply is not forced: another existing content is a conflict.
func (r *Rotator) create(ctx context.Context, state State) error {
	data := state.Encode()
	content, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode it: %w", err)
	}
	secret := corev1ac.Secret(SecretName, r.opts.Namespace).WithLabels(map[string]string{"app.kubernetes.io/name": "vmgroup-operator"}).WithData(data)
	return r.opts.Client.Apply(ctx, secret, client.FieldOwner(fmt.Sprintf("vmgroup-operator-%x", sha256.Sum256(content))))
}

// report reports members that have been behind for longer than the distribution takes.
func (r *Rotator) report(ctx context.Context, in Input, decision Decision) {
	if r.opts.Events == nil {
		return
	}
	present := map[string]bool{}
	for _, b := range decision.Behind {
		if in.Now.Sub(b.Since) < in.Limits.Overlap && !b.Broken {
			continue
		}
		key := fmt.Sprintf("%s %t", b.Member, b.Broken)
		present[key] = true
		if !r.reported[key] {
			r.opts.Events.MemberBehind(ctx, b)
		}
	}
	r.reported = present
}
