package trust

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"
)

// keyLength of the path key, in bytes.
const keyLength = 32

// Segment is the part of a member's webhook path that cannot be guessed without the key: the first 32 hexadecimal digits of
// HMAC-SHA256(key, name + "/" + uid). A MemberCluster that is created anew under the same name gets another one.
func Segment(key []byte, memberName string, uid types.UID) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(memberName + "/" + string(uid)))
	return hex.EncodeToString(mac.Sum(nil))[:32]
}
