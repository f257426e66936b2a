package session

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Knock asks the server who it is, over a connection of its own and without a login. It shows what a session with open
// connections does not: whether the server still takes new ones, and with which certificate. Errors are those of Dial.
func Knock(ctx context.Context, cfg Config) error {
	return knockError(cfg, knock(ctx, cfg))
}

func knock(ctx context.Context, cfg Config) error {
	sc, err := newClient(cfg)
	if err != nil {
		return err
	}
	sc.DefaultTransport().DisableKeepAlives = true
	ctx, cancel := context.WithTimeout(ctx, cfg.knockEvery())
	defer cancel()
	_, err = methods.GetServiceContent(ctx, sc)
	if IsFault(err) {
		return nil // who refuses the question is there
	}
	return err
}

func knockError(cfg Config, err error) error {
	switch {
	case err == nil:
		return nil
	case vsphere.KindOf(err) != vsphere.KindTransient:
		return err
	case ranOut(err):
		err = fmt.Errorf("it has answered nothing for %s; see whether its services run and whether the network lets answers through: %w", cfg.knockEvery(), err)
	}
	return connectError(opConnect, err)
}
