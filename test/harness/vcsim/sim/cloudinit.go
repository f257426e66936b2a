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

// GuestCloudInit is a key of extraConfig. With any value, the guest has cloud-init. When such a guest has booted (see GuestBoot), cloud-init publishes the
// guest's address and redacts the keys of guestinfo that the metadata lists in redact.
const GuestCloudInit = "SIM.guest.cloudinit"

const (
	localIPv4 = "guestinfo.local-ipv4"
	// redacted is cloud-init's replacement of a value, and unencoded its replacement of the encoding. A guest cannot remove keys.
	redacted, unencoded = "---", " "
)

// FirstBoot is the configuration that a guest finds in its VM at the first boot.
type FirstBoot struct {
	// Datasource of cloud-init: VMware, OVF, or empty if there is none.
	Datasource string
	// UserData and Metadata are the input of cloud-init. Ignition is the input of Ignition.
	UserData, Metadata, Ignition string
}

// FirstBoot returns the configuration of a guest with cloud-init or Ignition at its first boot. Its cloud-init checks OVF properties before guestinfo, as in
// Ubuntu 22.04 and RHEL 8.
func (o *Operator) FirstBoot(ctx context.Context, vmPath string) (FirstBoot, error) {
	var props mo.VirtualMachine
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return FirstBoot{}, err
	}
	if err := vm.Properties(ctx, vm.Reference(), []string{"config.extraConfig", "config.vAppConfig"}, &props); err != nil {
		return FirstBoot{}, fmt.Errorf("read the guest data of %s: %w", vmPath, err)
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
	// Ignition reads guestinfo first.
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

// decoded returns a value as cloud-init decodes it, or "" if it cannot, for example because the value is truncated.
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

// cloudInit changes guestinfo as cloud-init does after it has read it. The caller holds the VM.
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
