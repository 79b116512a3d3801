"""From and to tables that are not Delta: conversion, manifests."""
