"""Rooms: a teacher leads, a class follows, votes and hands in sentences. One SQLite file serves all processes."""
