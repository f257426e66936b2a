package session

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
)

// readOnly are the methods that change nothing in the inventory and need no fence. Views, collectors and filters belong to our own login and end with
// it.
var readOnly = map[string]bool{
	"RetrieveServiceContent":       true,
	"CurrentTime":                  true,
	"Login":                        true,
	"Logout":                       true,
	"SessionIsActive":              true,
	"RetrieveProperties":           true,
	"RetrievePropertiesEx":         true,
	"ContinueRetrievePropertiesEx": true,
	"CancelRetrievePropertiesEx":   true,
	"CreatePropertyCollector":      true,
	"DestroyPropertyCollector":     true,
	"CreateFilter":                 true,
	"DestroyPropertyFilter":        true,
	"WaitForUpdatesEx":             true,
	"CancelWaitForUpdates":         true,
	"CreateContainerView":          true,
	"DestroyView":                  true,
	"FindByInventoryPath":          true,
	"FindChild":                    true,
	"FindAllByUuid":                true,
	"HasPrivilegeOnEntities":       true,
	"HasUserPrivilegeOnEntities":   true,
	"FetchUserPrivilegeOnEntities": true,
	"QueryEvents":                  true,
}

// repeatable are the reads that can be sent again if it is unknown whether the server received them. The server sends each page and each update only
// once, so readers of those start again. A second filter would report everything twice, and a second login would add a session.
var repeatable = map[string]bool{
	"RetrieveServiceContent":       true,
	"CurrentTime":                  true,
	"SessionIsActive":              true,
	"RetrieveProperties":           true,
	"RetrievePropertiesEx":         true,
	"CreatePropertyCollector":      true,
	"CreateContainerView":          true,
	"FindByInventoryPath":          true,
	"FindChild":                    true,
	"FindAllByUuid":                true,
	"HasPrivilegeOnEntities":       true,
	"HasUserPrivilegeOnEntities":   true,
	"FetchUserPrivilegeOnEntities": true,
	"QueryEvents":                  true,
}

// methodOf returns the vSphere method that a request calls: govmomi names the type of the envelope body after it.
func methodOf(req soap.HasFault) string {
	t := reflect.TypeOf(req)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.TrimSuffix(t.Name(), "Body")
}

// ReadOnly reports whether a vSphere method is known to change nothing.
func ReadOnly(method string) bool { return readOnly[method] }
