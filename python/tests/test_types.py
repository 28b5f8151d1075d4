"""The public types, as a type checker of user code sees them."""

from __future__ import annotations

import typing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import raysum.typing
from cases import FRAME, Y, fit, gp
from mypy import api, stubtest
from raysum import _description, _raysum, _settings, _types

HERE = Path(__file__).parent


def test_a_users_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache")]
    said, _, status = api.run([*options, str(HERE / "typed_use.py")])
    assert status == 0, said


def test_the_stub_is_that_of_the_extension(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status = stubtest.test_stubs(stubtest.parse_options(["raysum._raysum"]))
    assert status == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "alias"),
    [
        ("model", raysum.typing.ModelName),
        ("columns_scale", raysum.typing.ColumnsScaleName),
        ("target_scale", raysum.typing.TargetScaleName),
        ("noise", raysum.typing.NoiseName),
        ("length_scale_prior", raysum.typing.LengthScalePriorName),
        ("kernel", raysum.typing.KernelName),
        ("directions", raysum.typing.DirectionsName),
        ("engine", raysum.typing.EngineName),
        ("optimizer", raysum.typing.OptimizerName),
        ("effort", raysum.typing.EffortName),
        ("intervals", raysum.typing.IntervalsName),
    ],
)
def test_names_are_those_of_the_extension(kind, alias):
    assert list(typing.get_args(alias)) == _raysum.names()[kind]


def test_descriptions_have_the_keys_that_they_are_typed_with():
    frame = FRAME.assign(kind=["u", "v"] * 15)
    gaps = gp(missing="indicate").fit(frame.mask(frame == "u"), Y)
    for model in (fit(), fit(frame, pd.DataFrame({"s": Y, "t": -Y})), gaps):
        _check_keys(model._description, _description.Description)
    assert gaps._description["schema"]["features"][-1]["indicator"]
    _check_keys(_settings.settings(gp()), _types.Settings)
    stack = raysum.AutoGPRegressor().fit(FRAME, Y)
    _check_keys(stack._description, _description.Description)
    _check_keys(_settings.auto_settings(stack), _types.AutoSettings)


def _check_keys(value, expected):
    """Compares the keys of dictionaries with those of a TypedDict, and so on inside."""
    if typing.is_typeddict(expected):
        kinds = typing.get_type_hints(expected)
        assert expected.__required_keys__ <= set(value) <= set(kinds), expected
        for key in value:
            _check_keys(value[key], kinds[key])
        return
    arguments = typing.get_args(expected)
    if isinstance(value, list) and typing.get_origin(expected) is list:
        for each in value:
            _check_keys(each, arguments[0])
    elif type(None) in arguments and value is not None:
        _check_keys(value, arguments[0])


def test_arrays_are_of_the_type_that_is_said(fitted, table):
    X, y = table
    answers = [
        *fitted.predict(X, return_std=True, interval=0.9, return_extrapolation=True),
        *fitted.predict(X, return_cov=True),
        *fitted.components(X, return_std=True),
        *fitted.component_curves(X)[0][1:],
        *fitted.loo(X, y),
        *fitted.coverage(X, y)[:2],
        *(fitted.sample_y(X), fitted.gradient(X), fitted.transform(X)),
        *(fitted.directions_, fitted.length_scales_, fitted.weights_, fitted.feature_importances_),
    ]
    for answer in answers:
        assert isinstance(answer, np.ndarray) and answer.dtype == np.float64
