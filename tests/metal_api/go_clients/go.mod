// Clients of the Metal API that nobody here wrote, and the one program of our own that reads answers with their models.
module clients

go 1.24.0

require (
	github.com/equinix/equinix-sdk-go v0.46.0
	github.com/packethost/packngo v0.31.0
)
