"""The kinds of interventions. A new kind is a file beside this one and a name in the union."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chumoku.app.services.interventions.ablate import Ablate
from chumoku.app.services.interventions.mask import EditMask
from chumoku.app.services.interventions.patch import Patch

Intervention = Annotated[Ablate | EditMask | Patch, Field(discriminator="kind")]
