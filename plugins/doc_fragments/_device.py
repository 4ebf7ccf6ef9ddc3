# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that create devices.

Note that this doc fragment is private to the collection: it may change without notice.
"""

ATTRIBUTES = r"""
    plan:
      description:
        - Slug or ID of the server plan, for example V(c3.small.x86).
        - Required to create a device. The plan of a device cannot be changed.
      type: str
    metro:
      description:
        - Code of the metro, for example V(da), or V(any). For several, in order of preference, use C(placement).
        - Required to create a device, unless O(hardware_reservation_id) is an ID.
        - The metro of a device cannot be changed.
      type: str
    operating_system:
      description:
        - Slug or ID of the operating system, for example V(ubuntu_24_04) or V(custom_ipxe).
        - Required to create a device. It cannot be changed.
      type: str
    userdata:
      description:
        - User data for the first boot, for example a cloud-config, an Ignition config, or a script.
        - It is never displayed. A diff shows its size and SHA-256.
      type: str
      aliases: [user_data]
    ipxe_script_url:
      description: URL of the iPXE script for the operating system V(custom_ipxe).
      type: str
    always_pxe:
      description: Boot over the network every time, and not only the first time.
      type: bool
    tags:
      description:
        - All tags of the device, in addition to O(ownership_tags). Other tags are removed. Order and duplicates are ignored.
        - Tags that begin with C(ansible-operation) are kept, since they record accepted operations.
      type: list
      elements: str
    customdata:
      description: Custom data in the metadata of the device. Every member of the project can read it, so store no secrets. A diff shows its
        size and SHA-256.
      type: dict
    description:
      description: Any text.
      type: str
    billing_cycle:
      description: Billing cycle of the device.
      type: str
      choices: [hourly, daily, monthly, yearly]
    locked:
      description: Whether the API refuses to delete the device.
      type: bool
      aliases: [lock]
    network_frozen:
      description: Whether the API refuses to convert the network type of the device.
      type: bool
    project_ssh_keys:
      description:
        - IDs of SSH keys of the project for the device. Only used during creation.
        - Without any SSH key option, the device has all keys of the project and its members.
      type: list
      elements: str
    user_ssh_keys:
      description: IDs of users whose SSH keys the device has. Only used during creation.
      type: list
      elements: str
    ssh_keys:
      description: More SSH keys for the device. A key that the project does not have is added to the project. Only used during creation.
      type: list
      elements: dict
      suboptions:
        label:
          description: Name of the key.
          type: str
          required: true
        key:
          description: The public key, as in an C(authorized_keys) file.
          type: str
          required: true
    no_ssh_keys:
      description: Create the device without SSH keys. Only used during creation.
      type: bool
    features:
      description:
        - Features of the server, a list of names such as C(tpm), or a dictionary of names with the values V(required) or V(preferred).
        - Only used during creation.
      type: raw
    storage:
      description:
        - Storage layout with C(disks), C(raid) and C(filesystems), in the format of the API. For reserved hardware.
        - Only used during creation.
      type: dict
    public_ipv4_subnet_size:
      description: Prefix length of the public IPv4 network. Only used during creation. Use O(ip_addresses) instead.
      type: int
    private_ipv4_subnet_size:
      description: Prefix length of the private IPv4 network. Only used during creation. Use O(ip_addresses) instead.
      type: int
    hardware_reservation_id:
      description:
        - ID of the reserved hardware to use, or V(next-available). An empty string means none.
        - With O(wait=true), the module waits for hardware whose last device is being deleted or whose disks are being wiped. It fails at
          once if no matching hardware is being freed.
      type: str
    ip_addresses:
      description:
        - Addresses of the device. Only used during creation.
        - By default a public IPv4, a public IPv6 and a private IPv4 address.
        - One of them has to be a private IPv4 address.
      type: list
      elements: dict
      suboptions:
        address_family:
          description: V(4) for IPv4, V(6) for IPv6.
          type: int
          choices: [4, 6]
          required: true
        public:
          description: Whether the address is public.
          type: bool
          required: true
        cidr:
          description: Prefix length of the block, V(28) to V(32) for IPv4, V(124) to V(127) for IPv6.
          type: int
        ip_reservations:
          description: IDs of IP reservations for the address.
          type: list
          elements: str
    termination_time:
      description:
        - Time at which the API deletes the device, for example V(2027-01-31T18:00:00Z). Without a time zone it is UTC. An empty string
          means never.
        - It can be changed before this time. The API does not document the change, so the module fails if the API ignores it.
      type: str
    power_state:
      description: Power state of the device. By default it is not changed.
      type: str
      choices: ["on", "off"]
"""


class ModuleDocFragment:
    # Annotated: ansible-test reads the assignments of texts, and these are expressions.
    DOCUMENTATION: str = f"options:\n  <<:{ATTRIBUTES}"

    # For a set: its defaults, and the options of each machine.
    MACHINES: str = f"""
options:
  <<: &device{ATTRIBUTES}
  placement: &placement
    description:
      - Metros and plans to order devices in, in order of preference. An entry sets a metro, a plan or both; the defaults are O(metro) and
        O(plan). No other place is used.
      - A single request checks the capacity of all alternatives before the first order. Devices with the same list are ordered at the first
        alternative with capacity for all of them. If there is none, nothing is ordered.
      - If an alternative is sold out when it is ordered, the remaining devices are ordered at the next one, see RV(notes).
      - An existing device may be at any of the alternatives.
    type: list
    elements: dict
    suboptions:
      metro:
        description: Code of the metro.
        type: str
      plan:
        description: Slug or ID of the plan.
        type: str
  machines:
    description: The devices with their attributes. The options of the task are the defaults.
    type: list
    elements: dict
    suboptions:
      <<: *device
      hostname:
        description: Host name of the device, case-insensitive. If no such device exists, it is created.
        type: str
        required: true
      placement: *placement
"""
