"""The models a plan can name. A third model is a folder of its own and one line here."""

from seedstudy.models.wide_deep import WideDeepConfig

ModelConfig = WideDeepConfig
