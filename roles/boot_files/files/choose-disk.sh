#!/usr/bin/env bash
# Chooses the disk to install to by a rule: {"device", "hints", "metadata"}. If no disk matches, it fails.
#   device     a path, or "smallest" or "largest", optionally with a type: "smallest nvme", "ssd", "hdd"
#   hints      OpenShift's rootDeviceHints; a disk has to match all of them
#   metadata   URL of the device's metadata, which has the address for its events; empty, none is sent
# A rule never chooses removable, read-only or empty disks, disks on USB (a BMC's virtual media) or on no bus (zram, nbd, device mapper).
set -euo pipefail
shopt -s inherit_errexit
root=${CHOOSE_DISK_ROOT:-}
rule=$root/etc/choose-disk.json
columns=NAME,KNAME,TYPE,SIZE,RM,RO,ROTA,TRAN,SUBSYSTEMS,MODEL,VENDOR,SERIAL,WWN,HCTL

# The device a path leads to, as lsblk names it; nothing while the path is not there.
device() {
    local found
    found=$(readlink --canonicalize-existing "$root$1") && echo "${found#"$root"}"
}

disks() {
    lsblk --json --bytes --paths --output "$columns" | jq --compact-output '
        # RHEL 8 writes all of it as texts.
        def yes: . == true or . == "1";
        def text: . // "" | tostring | sub("^\\s+"; "") | sub("\\s+$"; "");
        def type: if .tran == "nvme" then "nvme" elif .rota | yes then "hdd" else "ssd" end;
        [.blockdevices[] | select(.type == "disk" and (.size // 0 | tonumber) > 0)
            # Several paths to one disk: what is written to is what multipath made of them.
            | (first(.children[]? | select(.type == "mpath")) // .) as $whole
            # lsblk has the WWN with its extension. A WWN of 16 digits (NAA 6) has an extension of 16 digits.
            | (.wwn | text | ascii_downcase) as $wwn | ($wwn | test("^0x[0-9a-f]{32}$")) as $extended
            | {
                path: $whole.name, names: [.name, .kname, $whole.name, $whole.kname], size: (.size | tonumber), type: type,
                rotational: (.rota | yes), model: (.model | text), vendor: (.vendor | text), serial: (.serial | text),
                wwn: $wwn, wwns: [$wwn, if $extended then $wwn[:18] else empty end],
                extension: (if $extended then "0x" + $wwn[18:] else "" end),
                hctl: (.hctl | text),
                chosen_by_rules: ((.rm | yes | not) and (.ro | yes | not) and .tran != "usb" and .subsystems != "block")
            }] | group_by(.path) | map(first + {names: map(.names[])})'
}

# Of disks of one size the first in the order of the kernel; sdb is before sdaa.
choose() {
    local path
    path=$(jq --raw-output '.device | select(startswith("/")) // ""' "$rule")
    [ -z "$path" ] || path=$(device "$path") || return 0
    local hint
    hint=$(jq --raw-output '.hints.deviceName // ""' "$rule")
    [ -z "$hint" ] || hint=$(device "$hint") || return 0
    disks | jq --raw-output --slurpfile rules "$rule" --arg path "$path" --arg hint "$hint" '
        $rules[0] as $rule | ($rule.hints // {}) as $hints | ($rule.device | split(" ")) as [$order, $type]
        | [.[] | if $path != "" then select(.names | index($path)) else select(
            .chosen_by_rules
            and ($type == null or .type == $type)
            and ($hint == "" or (.names | index($hint)))
            and ($hints.hctl == null or .hctl == $hints.hctl)
            and (.model | contains($hints.model // ""))
            and (.vendor | contains($hints.vendor // ""))
            and ($hints.serialNumber == null or .serial == $hints.serialNumber)
            and (.size >= ($hints.minSizeGigabytes // 0) * 1000000000)
            and ($hints.wwn == null or (.wwns | index($hints.wwn | ascii_downcase)))
            and ($hints.wwnWithExtension == null or .wwn == ($hints.wwnWithExtension | ascii_downcase))
            and ($hints.wwnVendorExtension == null or .extension == ($hints.wwnVendorExtension | ascii_downcase))
            and ($hints.rotational == null or .rotational == $hints.rotational)) end]
        | sort_by((if $order == "largest" then -1 else 1 end) * .size, (.path | length), .path) | first.path // ""'
}

# Prints to the journal and to the console. A kernel console without its UART cannot be opened or written (EIO): that changes nothing.
print() {
    echo "choose-disk: $1"
    { echo "choose-disk: $1" >"$root/dev/console"; } 2>/dev/null || true
}

# Prints, and posts an event of the device in the format of Ignition's progress.
report() {
    print "$1"
    local metadata events
    metadata=$(jq --raw-output .metadata "$rule")
    [ -n "$metadata" ] || return 0
    events=$(curl --silent --show-error --fail --max-time 20 "$metadata" | jq --raw-output '.phone_home_url // "" | sub("/phone-home$"; "/events")') || return 0
    [ -z "$events" ] || jq --null-input --arg message "[choose-disk] $1" '{state: "failed", message: $message}' |
        curl --silent --show-error --fail --max-time 20 --header 'Content-Type: application/json' --data @- "$events" || true
}

# A disk controller may list its disks late.
for ((left = ${CHOOSE_DISK_WAIT:-60}; ; left -= 2)); do
    udevadm settle
    chosen=$(choose)
    [ -z "$chosen" ] && [ "$left" -gt 0 ] || break
    sleep 2
done
if [ -z "$chosen" ]; then
    there=$(disks | jq --raw-output '
        map("\(.path) (\(.size / 1000000000 | floor) GB \(.type), model \(.model), serial \(.serial)"
            + (if .wwn == "" then "" else ", WWN \(.wwn)" end) + (if .chosen_by_rules then ")" else ", not for a rule)" end))
        | join(", ") | if . == "" then "no disk at all" else . end')
    report "no disk fits $(jq --compact-output 'del(.metadata)' "$rule"), nothing is installed; there are: $there"
    exit 1
fi
echo "dest-device: $chosen" >"$root/etc/coreos/installer.d/20-disk.yaml"
print "installing to $chosen"
