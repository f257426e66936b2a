package sim

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	vimxml "github.com/vmware/govmomi/vim25/xml"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
)

// reads are the methods that change nothing beyond a login, besides methods that begin with Retrieve, Find, Query or Fetch. All other
// methods count as changes.
var reads = map[string]bool{
	"": true, "Login": true, "Logout": true, "CurrentTime": true, "SessionIsActive": true, "ContinueRetrievePropertiesEx": true,
	"CancelRetrievePropertiesEx": true, "CreatePropertyCollector": true, "DestroyPropertyCollector": true, "CreateFilter": true,
	"DestroyPropertyFilter": true, "WaitForUpdatesEx": true, "CancelWaitForUpdates": true, "CreateContainerView": true,
	"DestroyView": true, "HasPrivilegeOnEntities": true, "HasUserPrivilegeOnEntities": true, "TerminateSession": true,
}

func isChange(method string) bool {
	for _, prefix := range []string{"Retrieve", "Find", "Query", "Fetch"} {
		if strings.HasPrefix(method, prefix) {
			return false
		}
	}
	return !reads[method]
}

// Keys of the stamp in a VM's extraConfig. The fourth field of the owner is the group.
const (
	ownerKey = "vmgroup.owner"
	epochKey = "vmgroup.epoch"
	// operationPrefix begins the name of a group's operation. The epoch follows.
	operationPrefix = "vmgroup-"
)

// parseCall parses the parts of a request that a record needs. Of a reading call, it parses only the method.
func parseCall(body []byte) Call {
	var call Call
	d := xml.NewDecoder(bytes.NewReader(body))
	inBody, depth, key, field := false, 0, "", ""
	for {
		token, err := d.Token()
		if err != nil {
			return call
		}
		switch t := token.(type) {
		case xml.StartElement:
			field = t.Name.Local
			switch {
			case call.Method != "":
				depth++
			case inBody:
				call.Method = field
				if call.Changes = isChange(call.Method); !call.Changes {
					return call
				}
			default:
				inBody = field == "Body"
			}
		case xml.EndElement:
			if call.Method != "" {
				depth--
			}
			field = ""
		case xml.CharData:
			if field == "key" {
				key = string(t)
			}
			call.note(depth, field, key, string(t))
		}
	}
}

// note stores the text of an element of the header, or of the call's element at a depth.
func (c *Call) note(depth int, field, key, text string) {
	switch {
	case field == "operationID" && c.Method == "":
		c.Operation = text
		if epoch, ok := strings.CutPrefix(text, operationPrefix); ok {
			c.Epoch, _, _ = strings.Cut(epoch, "-")
		}
	case c.Method == "":
	case field == "_this", field == "vm" && c.Method == "PowerOnMultiVM_Task": // for PowerOnMultiVM_Task this is the VM, not the datacenter
		c.Object = text
	case depth == 1 && (field == "name" || field == "newName"):
		c.Name = text
	case field == "value" && key == ownerKey:
		c.Group = groupOf(text)
	case field == "value" && key == epochKey:
		c.Epoch = text
	}
}

func groupOf(stamp string) string {
	if parts := strings.Split(stamp, ";"); len(parts) > 3 {
		return parts[3]
	}
	return ""
}

// parseAnswer returns the name of the fault in an answer, or the value of the returned reference.
func parseAnswer(body []byte) (fault, returned string) {
	d := xml.NewDecoder(bytes.NewReader(body))
	inDetail, field := false, ""
	for {
		token, err := d.Token()
		if err != nil {
			return fault, returned
		}
		switch t := token.(type) {
		case xml.StartElement:
			field = t.Name.Local
			if inDetail && fault == "" {
				fault = strings.TrimSuffix(field, "Fault")
				for _, a := range t.Attr {
					if a.Name.Local == "type" {
						fault = a.Value[strings.Index(a.Value, ":")+1:]
					}
				}
			}
			inDetail = inDetail || field == "detail"
		case xml.EndElement:
			field = ""
		case xml.CharData:
			if field == "returnval" {
				returned = string(t)
			}
		}
	}
}

// SOAPFault returns an answer with a fault, in vCenter's form.
func SOAPFault(fault types.BaseMethodFault) faultproxy.Fault {
	detail := &soap.Fault{Code: "ServerFaultCode", String: "planted"}
	detail.Detail.Fault = reflect.ValueOf(fault).Elem().Interface()
	envelope := soap.Envelope{Body: struct{ Fault *soap.Fault }{detail}}
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if err := vimxml.NewEncoder(&out).Encode(envelope); err != nil {
		panic(err) // a govmomi type can always be encoded
	}
	return faultproxy.Fault{
		Act: faultproxy.Answer, Status: http.StatusInternalServerError, ContentType: "text/xml; charset=utf-8", Body: out.Bytes(),
	}
}

// owner reads the group of a VM from its stamp.
func (o *Operator) owner(ctx context.Context, vm string) (string, error) {
	var props mo.VirtualMachine
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: vm}
	if err := property.DefaultCollector(o.Client()).RetrieveOne(ctx, ref, []string{"config.extraConfig"}, &props); err != nil {
		return "", fmt.Errorf("read the stamp of %s: %w", vm, err)
	}
	if props.Config == nil {
		return "", nil
	}
	for _, option := range props.Config.ExtraConfig {
		if v := option.GetOptionValue(); v.Key == ownerKey {
			stamp, _ := v.Value.(string)
			return groupOf(stamp), nil
		}
	}
	return "", nil
}
