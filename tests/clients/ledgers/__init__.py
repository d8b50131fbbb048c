"""The kill -9 loop: a broker that is killed, clients that keep a ledger, and the check of both."""
