"""What prove-media is made of: sounds, priced cases, hostile uploads, and the checks of the SDKs."""
