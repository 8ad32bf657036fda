"""The routes of every resource, in the order of `/docs`."""

from chumoku.app.api.explain.effects import router as effects
from chumoku.app.api.explain.route import router as explain
from chumoku.app.api.explain.timings import router as timings
from chumoku.app.api.generation.route import router as generation
from chumoku.app.api.health.route import router as health
from chumoku.app.api.models.route import router as models
from chumoku.app.api.pages.route import router as pages
from chumoku.app.api.source.route import router as source
from chumoku.app.api.tokens.route import router as tokens
from chumoku.app.api.traces.route import router as traces
from chumoku.app.api.translation.route import router as translation
from chumoku.app.api.weights.route import router as weights

ROUTERS = (pages, models, tokens, traces, generation, translation, explain, effects, timings, weights, source, health)
