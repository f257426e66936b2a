// Package logins prevents rejected logins from locking an account at a vCenter.
//
// vCenter locks an account after five rejected logins within three minutes, from any clients. It answers a locked account like a wrong password. So all
// replicas share one memory of the logins of each account (server and user name), with these rules:
//
//   - One login is tried at a time. The replica stores the try before, and the result afterwards. After vCenter accepted it, other replicas can log in
//     with the same user name and password for a few seconds without waiting for each other.
//   - A user name and password that vCenter rejected are retried after 2 and after 15 minutes, and never after the third rejection.
//   - Other user names and passwords are tried at once, but an account gets at most four rejections in 15 minutes.
//
// rules.go decides, without any clock or store. Gate applies the decisions to one session.
package logins
