"""Certificates: proofs that no flip exists, and brackets that join them with attacks."""
