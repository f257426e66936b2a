package inventory

// whole is what the index reports about all objects together. Its readers take no lock, because each pass asks, and the application of a listing holds the lock for
// long. They see the state before that listing.
type whole struct {
	complete      bool
	incomplete    string
	suddenlyEmpty bool
	stamped       int
	applied       Moment
}

// unlock ends a change of the index.
func (x *Index) unlock() {
	x.publish()
	x.mu.Unlock()
}

// publish updates what readers without the lock see. The caller holds the lock.
func (x *Index) publish() {
	now := whole{suddenlyEmpty: x.lost != nil, stamped: x.stamped}
	now.complete, now.incomplete = x.complete()
	if x.valid {
		now.applied = x.applied
	}
	if was := x.whole.Load(); was == nil || *was != now {
		changed := now // so that only a change allocates
		x.whole.Store(&changed)
	}
}

// Complete reports whether the index holds every VM below the root folder, and the reason if not.
func (x *Index) Complete() (bool, string) {
	is := x.whole.Load()
	return is.complete, is.incomplete
}

// SuddenlyEmpty reports whether the alarm is active.
func (x *Index) SuddenlyEmpty() bool { return x.whole.Load().suddenlyEmpty }

// Stamped returns the number of VMs with this installation's stamp, including missing VMs without a verdict.
func (x *Index) Stamped() int { return x.whole.Load().stamped }

// Applied returns the moment at which the last applied full listing began. It returns zero before the first listing and while the index is invalid. It uses the
// beginning, because an operation can conclude from a missing object only if the listing was read after the operation.
func (x *Index) Applied() Moment { return x.whole.Load().applied }
