package sim

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
)

// markUplinks has the distributed switches of a new model say which of their port groups are uplinks, as those of vCenter do.
func markUplinks(all *simulator.Registry) {
	for _, o := range all.All("DistributedVirtualSwitch") {
		dvs, ok := o.(*simulator.DistributedVirtualSwitch)
		if !ok {
			continue
		}
		for _, ref := range dvs.Portgroup {
			group, ok := all.Get(ref).(*simulator.DistributedVirtualPortgroup)
			if ok && strings.HasPrefix(group.Name, dvs.Name+"-DVUplinks") {
				config := dvs.Config.GetDVSConfigInfo()
				config.UplinkPortgroup = append(config.UplinkPortgroup, ref)
			}
		}
	}
}
