package govmomi

import (
	"cmp"
	"context"
	"fmt"

	govc "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	propSwitch     = "config.distributedVirtualSwitch"
	propGroupKey   = "key"
	propSwitchUUID = "uuid"
)

// HiddenSwitchError reports that the account can use a port group but cannot read its switch. Without the switch, no adapter can be connected to the
// port group.
type HiddenSwitchError struct {
	// Group is the inventory path of the port group. Switch is the reference of its switch, if vCenter shows it.
	Group  string
	Switch vsphere.Ref
}

func (e *HiddenSwitchError) Error() string {
	which := "its distributed switch"
	if !e.Switch.IsZero() {
		which += ", " + e.Switch.String()
	}
	return fmt.Sprintf("the operator's account lacks privilege %s on %s; grant it the role Read-only there", vsphere.PrivilegeRead, which)
}

// backing returns the device backing that connects an adapter to a network.
func (s *Server) backing(ctx context.Context, c *connection, network vsphere.Ref) (types.BaseVirtualDeviceBackingInfo, error) {
	s.mu.Lock()
	cached, ok := s.backings[network]
	s.mu.Unlock()
	if ok {
		return cached, nil
	}
	backing, err := s.readBacking(ctx, c, network)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.backings[network] = backing
	s.mu.Unlock()
	return backing, nil
}

func (s *Server) readBacking(ctx context.Context, c *connection, network vsphere.Ref) (types.BaseVirtualDeviceBackingInfo, error) {
	if network.Type == typePortgroup {
		return s.portgroupBacking(ctx, c, network)
	}
	ref, ok := govc.NewReference(c.client, toRef(network)).(govc.NetworkReference)
	if !ok {
		return nil, &vsphere.Error{Kind: vsphere.KindSpec, Op: "connect to the network", Object: network,
			Err: fmt.Errorf("%s is a kind of network that is not supported", network)}
	}
	return ref.EthernetCardBackingInfo(ctx)
}

// portgroupBacking reads a port group and its switch. If the account cannot read the switch, vCenter leaves the reference to the switch unset.
func (s *Server) portgroupBacking(ctx context.Context, c *connection, network vsphere.Ref) (types.BaseVirtualDeviceBackingInfo, error) {
	path := untrusted.Name(cmp.Or(s.cat.networkPath(network), network.String()))
	hidden := func(dvs vsphere.Ref) error {
		e := &vsphere.Error{Kind: vsphere.KindPermission, Op: "connect to network " + path, Object: dvs, Privilege: vsphere.PrivilegeRead,
			Err: &HiddenSwitchError{Group: path, Switch: dvs}}
		if dvs.IsZero() {
			e.Object = network
		}
		return e
	}
	group, err := exact(ctx, c.client, network, propGroupKey, propSwitch)
	if err == nil {
		err = group.denied[propGroupKey]
	}
	if err != nil {
		return nil, err
	}
	dvs := group.refOf(propSwitch)
	if dvs.IsZero() {
		return nil, hidden(dvs)
	}
	of, err := exact(ctx, c.client, dvs, propSwitchUUID)
	if err == nil {
		err = of.denied[propSwitchUUID]
	}
	switch {
	case denies(err):
		return nil, hidden(dvs)
	case err != nil:
		return nil, err
	}
	return &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
		Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: group.text(propGroupKey), SwitchUuid: of.text(propSwitchUUID)},
	}, nil
}
