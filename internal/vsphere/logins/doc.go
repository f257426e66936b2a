// Package logins keeps an account at a vCenter from being locked by rejected logins.
//
// vCenter locks an account after five rejected logins within three minutes, whichever client sends them, and answers a locked account as it answers a
// wrong password. So all replicas share one memory of the logins of each account (server and user name), and these rules:
//
//   - One login is tried at a time. The replica that tries has written so before, and writes the outcome afterwards. Once vCenter accepts it, all others
//     may log in with the same user name and password for a few seconds without waiting for each other.
//   - A user name and password that vCenter rejected are tried again after 2 and after 15 minutes, and never after the third rejection.
//   - Others are tried at once, but an account gets at most four rejections in 15 minutes.
//
// rules.go decides, without any clock or store. Gate carries that out for one session.
package logins
