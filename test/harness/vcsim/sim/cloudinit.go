package sim

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// GuestCloudInit is the key of extraConfig that says with any value that the guest has cloud-init. Once such a guest has booted, see GuestBoot, cloud-init
// publishes the guest's address and takes out of guestinfo what the metadata lists in redact.
const GuestCloudInit = "SIM.guest.cloudinit"

const (
	localIPv4 = "guestinfo.local-ipv4"
	// redacted is what cloud-init writes over a value, and unencoded over the name of its encoding: a guest can remove no key.
	redacted, unencoded = "---", " "
)

// FirstBoot is what the first boot of a guest finds in its VM.
type FirstBoot struct {
	// Datasource of cloud-init: VMware, OVF, or empty if there is none.
	Datasource string
	// UserData and Metadata are what cloud-init reads there, and Ignition is what Ignition reads.
	UserData, Metadata, Ignition string
}

// FirstBoot tells what a guest with cloud-init, or with Ignition, is configured by when it boots for the first time. Its cloud-init is one that looks for OVF
// properties before guestinfo, as those of Ubuntu 22.04 and RHEL 8.
func (o *Operator) FirstBoot(ctx context.Context, vmPath string) (FirstBoot, error) {
	var props mo.VirtualMachine
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return FirstBoot{}, err
	}
	if err := vm.Properties(ctx, vm.Reference(), []string{"config.extraConfig", "config.vAppConfig"}, &props); err != nil {
		return FirstBoot{}, fmt.Errorf("read what %s tells its guest: %w", vmPath, err)
	}
	return firstBoot(props.Config), nil
}

func firstBoot(config *types.VirtualMachineConfigInfo) FirstBoot {
	info := map[string]string{}
	for _, kv := range config.ExtraConfig {
		value, _ := kv.GetOptionValue().Value.(string)
		info[kv.GetOptionValue().Key] = value[:min(len(value), longestGuestInfo)]
	}
	read := func(key string) string { return decoded(info[key], info[key+".encoding"]) }
	// Ignition looks into guestinfo first.
	found := FirstBoot{Ignition: read("guestinfo.ignition.config.data")}
	if config.VAppConfig != nil {
		found.Datasource = "OVF"
		for _, p := range config.VAppConfig.GetVmConfigInfo().Property {
			if p.Id == "user-data" {
				found.UserData = decoded(p.Value, "base64")
			}
		}
		return found
	}
	if found.UserData, found.Metadata = read("guestinfo.userdata"), read("guestinfo.metadata"); found.UserData+found.Metadata != "" {
		found.Datasource = "VMware"
	}
	return found
}

// decoded is what cloud-init makes of a value; nothing if it cannot decode it, as one that was cut off.
func decoded(value, encoding string) string {
	if encoding != "base64" && encoding != "gzip+base64" {
		return value
	}
	raw, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return ""
	}
	if encoding == "gzip+base64" {
		unpacked, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return ""
		}
		if raw, err = io.ReadAll(unpacked); err != nil {
			return ""
		}
	}
	return string(raw)
}

// cloudInit does what cloud-init does to guestinfo once it has read it. The caller holds the VM.
func (g *guests) cloudInit(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	boot := firstBoot(vm.Config)
	if option(vm, GuestCloudInit) == "" || boot.Datasource != "VMware" {
		return
	}
	g.write(ctx, vm, localIPv4, address(vm))
	var metadata struct {
		Redact []string `json:"redact"`
	}
	if json.Unmarshal([]byte(boot.Metadata), &metadata) != nil {
		return
	}
	for _, key := range metadata.Redact {
		key = "guestinfo." + strings.TrimSpace(key)
		g.write(ctx, vm, key, redacted)
		g.write(ctx, vm, key+".encoding", unencoded)
	}
}
