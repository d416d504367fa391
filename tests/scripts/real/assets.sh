#!/usr/bin/env bash
# Builds a real kube-apiserver and fetches a real etcd, for test suites that run on either hub. Nothing is installed, no root is needed.
#
#     tests/scripts/real/assets.sh FOLDER             about 15 minutes on two cores, 3 GB in FOLDER
#     KUBEBUILDER_ASSETS=FOLDER/assets cargo test …
#
# Everything comes out of Debian's archive, through apt: the source package of Kubernetes (1.20, the last one there with the API
# server in it), a Go compiler and etcd, all of one release of Debian. Packages are unpacked below FOLDER only.
#
# --mirror URL    where that archive is; without it, the one that this machine's apt uses
# --again         builds even if the programs are there

set -euo pipefail

readonly SUITE=bookworm
readonly GO=1.19
# The copy of this library that Kubernetes 1.20 brings crashes under any Go since 1.18.
readonly REFLECT=golang-github-modern-go-reflect2-dev
readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "assets.sh: $1"
  [ $# -lt 2 ] || say "  $2"
  exit 1
}

usage() { sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

folder='' mirror='' again=no
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help)
    usage
    exit 0
    ;;
  --mirror)
    [ $# -ge 2 ] || fail '--mirror wants the address of an archive'
    mirror=$2
    shift
    ;;
  --again) again=yes ;;
  -*) fail "no such flag: $1" 'assets.sh --help tells which there are' ;;
  *)
    [ -z "$folder" ] || fail "one folder only, not \"$folder\" and \"$1\""
    folder=$1
    ;;
  esac
  shift
done
[ -n "$folder" ] || fail 'which folder?' 'assets.sh FOLDER; everything is put there, 3 GB in all'

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
case $folder in
*[[:space:]\"]*) fail "\"$folder\" has a space or a quote in it" 'apt and go want a plainer name' ;;
esac
readonly folder assets=$folder/assets

has_both() { [ -x "$assets/etcd" ] && [ -x "$assets/kube-apiserver" ]; }
tell() {
  say "$("$assets/kube-apiserver" --version), $("$assets/etcd" --version | head -n 1)"
  printf 'export KUBEBUILDER_ASSETS=%s\n' "$assets"
}
if [ "$again" = no ] && has_both; then
  tell
  exit 0
fi

for program in apt-get dpkg-deb tar gzip; do
  command -v "$program" >/dev/null || fail "there is no $program here" 'this script needs Debian, or a system made from it'
done
[ -r "$KEYRING" ] || fail "there is no $KEYRING" 'the package debian-archive-keyring has it'

# Which archive this machine uses: the first that is one of Debian itself, not of its security updates.
usual_mirror() {
  local files=(/etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list)
  grep -hoE '^(URIs:|deb )[^#]*' "${files[@]}" 2>/dev/null |
    grep -oE '(https?|mirror\+file|file):[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' ' || true
}
[ -n "$mirror" ] || mirror=$(usual_mirror)
[ -n "$mirror" ] || fail 'apt on this machine knows no archive of Debian' 'assets.sh --mirror URL FOLDER names one'

# A world of its own for apt: neither its lists nor its sources are those of the machine.
mkdir -p "$folder"/apt/{lists/partial,cache/archives/partial,parts}
cat >"$folder/apt/own.sources" <<END
Types: deb deb-src
URIs: $mirror
Suites: $SUITE
Components: main
Signed-By: $KEYRING
END
cat >"$folder/apt/apt.conf" <<END
Dir::Etc::sourcelist "$folder/apt/own.sources";
Dir::Etc::sourceparts "$folder/apt/parts";
Dir::State::lists "$folder/apt/lists";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$folder/apt/cache";
APT::Sandbox::User "";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::Languages "none";
END
export APT_CONFIG=$folder/apt/apt.conf

say "1/4 what there is in $SUITE, from $mirror"
apt-get -qq update || fail "the lists of $SUITE cannot be fetched from $mirror"

say '2/4 a Go compiler and etcd'
mkdir -p "$folder/packages" "$folder/unpacked"
(cd "$folder/packages" && apt-get -qq download "golang-$GO-go" "golang-$GO-src" "$REFLECT" etcd-server) ||
  fail "$SUITE gives no golang-$GO, $REFLECT or etcd-server for this machine"
for package in "$folder"/packages/*.deb; do
  dpkg-deb --extract "$package" "$folder/unpacked"
done

say '3/4 the source of Kubernetes'
mkdir -p "$folder/source"
(cd "$folder/source" && apt-get -qq source --download-only --only-source kubernetes) ||
  fail "$SUITE gives no source of kubernetes"
archive=$(find "$folder/source" -name 'kubernetes_*.orig.tar.gz' | sort | tail -n 1)
[ -n "$archive" ] || fail 'the source package has no archive of the kind that was expected'
# Vendored code is found only below a folder of this very name.
readonly tree=$folder/go/src/k8s.io/kubernetes
rm -rf "$tree"
mkdir -p "$tree"
tar -xzf "$archive" -C "$tree" --strip-components=1
[ -d "$tree/cmd/kube-apiserver" ] || fail "$(basename "$archive") has no API server in it" 'later packages have only the clients'
readonly reflect=github.com/modern-go/reflect2
rm -rf "$tree/vendor/${reflect:?}"
cp -r "$folder/unpacked/usr/share/gocode/src/$reflect" "$tree/vendor/$reflect"
# And under any Go since 1.17 (or so) this check takes every empty text for an absent one.
readonly zero='data == nil || reflect.DeepEqual(reflect.Zero(reflect.TypeOf(data)), reflect.ValueOf(data))'
type_check=$tree/vendor/k8s.io/kube-openapi/pkg/validation/validate/type.go
grep -qF "if $zero {" "$type_check" || fail "$type_check is not as expected"
text=$(<"$type_check")
printf '%s\n' "${text/"if $zero {"/if data == nil \{}" >"$type_check"
version=$(basename "$archive" .orig.tar.gz)
version=${version##*[_y]}
case $version in
[0-9]*.[0-9]*.[0-9]*) ;;
*) fail "\"$version\" is no version of Kubernetes" "it was read from the name of $(basename "$archive")" ;;
esac
minor=${version#*.}

say "4/4 kube-apiserver $version: this takes a while"
export GOROOT=$folder/unpacked/usr/lib/go-$GO GOPATH=$folder/go GOCACHE=${GOCACHE:-$folder/cache} GO111MODULE=off CGO_ENABLED=0
readonly go=$GOROOT/bin/go package=k8s.io/kubernetes
mkdir -p "$assets"
cd "$tree"

# One file of the server is not in the source: descriptions of its kinds, made from every folder whose comments ask for it.
described() {
  {
    grep -rlE --include='*.go' '^// *\+k8s:openapi-gen=' pkg cmd plugin
    (cd staging/src && grep -rlE --include='*.go' '^// *\+k8s:openapi-gen=' k8s.io) | sed 's,^,vendor/,'
  } | grep -vE '/testdata/|/code-generator/|/sample-|_test\.go$' | sed 's,/[^/]*$,,' | sort -u | sed "s,^,$package/,"
}
nice "$go" build -o "$folder/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen || fail 'the build of openapi-gen ended with an error'
PATH=$GOROOT/bin:$PATH "$folder/openapi-gen" --logtostderr --go-header-file hack/boilerplate/boilerplate.generatego.txt \
  --input-dirs "$(described | paste -sd,)" --output-package "$package/pkg/generated/openapi" --output-file-base zz_generated.openapi \
  --report-filename "$folder/violations" --output-base "$GOPATH/src" || fail 'openapi-gen ended with an error'

flags='-s -w'
for names in client-go/pkg/version component-base/version; do
  names=$package/vendor/k8s.io/$names
  flags+=" -X $names.gitVersion=v$version -X $names.gitMajor=${version%%.*} -X $names.gitMinor=${minor%%.*} -X $names.gitTreeState=clean"
done
nice "$go" build -o "$assets/kube-apiserver" -ldflags "$flags" ./cmd/kube-apiserver || fail 'the build ended with an error'
cp "$folder/unpacked/usr/bin/etcd" "$assets/etcd"

has_both || fail "the programs are not in $assets"
tell
