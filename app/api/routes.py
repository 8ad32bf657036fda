"""The routes of every resource, in the order of `/docs`."""

from app.api.explain.effects import router as effects
from app.api.explain.route import router as explain
from app.api.explain.timings import router as timings
from app.api.generation.route import router as generation
from app.api.health.route import router as health
from app.api.models.route import router as models
from app.api.pages.route import router as pages
from app.api.source.route import router as source
from app.api.tokens.route import router as tokens
from app.api.traces.route import router as traces
from app.api.translation.route import router as translation
from app.api.weights.route import router as weights

ROUTERS = (pages, models, tokens, traces, generation, translation, explain, effects, timings, weights, source, health)
